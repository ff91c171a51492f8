import { interval } from 'rxjs'
import { LiveScreen, type ScreenOptions } from './live-screen.js'
import { noticeOf } from './notice.js'
import { loadProgressLine, type ProgressLine } from './progress.js'
import { finishedLine, liveLine, type LineStyle } from './transcript-line.js'
import { isResult, type TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

interface TextViewOptions {
  readonly screen: LiveScreen
  readonly reader: TranscriptReader
  readonly style: LineStyle
  /** How long the audio lasts, where that is known. */
  readonly totalMs?: number | undefined
  readonly progressLine?: ProgressLine | undefined
  /** What the progress follows: the audio sent, for a paced session; else how far the results have come. */
  readonly follow: 'sent' | 'results'
}

export interface TerminalViewOptions extends Pick<TextViewOptions, 'reader' | 'style' | 'totalMs'> {
  readonly terminals: ScreenOptions
  /** How fast the audio is sent, in times real time; `Infinity` for as fast as it is taken. */
  readonly speed: number
}

/** The text view on the terminal of a command, with a progress bar where its package is installed. */
export const openTerminalView = async ({ terminals, speed, ...options }: TerminalViewOptions): Promise<View> => {
  const progressLine = await loadProgressLine()
  const follow = speed === Infinity ? 'results' : 'sent'
  return openTextView({ ...options, screen: new LiveScreen(terminals), follow, progressLine })
}

/** How often a line that changes is painted again. */
const refreshMs = 100
/** Where stdout is a pipe, its reader may print to the same terminal: a pause for that before the progress is back. */
const pipePauseMs = 150

/** Finished lines as they come; on a terminal also the words that may still change, and the progress. */
const openTextView = (options: TextViewOptions): View => {
  const { screen, reader, style, totalMs, progressLine, follow } = options
  let sentMs = 0
  let reachedMs = 0
  let pausedUntilMs = 0

  const paint = (): void => {
    if (performance.now() < pausedUntilMs) return
    const doneMs = follow === 'sent' ? sentMs : Math.min(reachedMs, sentMs)
    const columns = screen.columns
    screen.paint(
      reader.live().map((spoken) => liveLine(spoken, style, columns)),
      progressLine?.({ doneMs, totalMs }, columns),
    )
  }
  const print = (line: string): void => {
    screen.print(line)
    if (!screen.showsLive) pausedUntilMs = performance.now() + pipePauseMs
  }
  const isLive = screen.showsLive || screen.showsProgress
  const painting = isLive ? interval(refreshMs).subscribe(paint) : undefined

  return {
    event: (event, transcript) => {
      const notice = noticeOf(event, style.speakers)
      if (notice !== undefined) screen.note(notice)
      if (!isResult(event) || transcript === undefined) return
      reachedMs = Math.max(reachedMs, event.endMs ?? event.startMs ?? 0)
      const spoken = reader.take(event, transcript)
      if (spoken !== undefined) print(finishedLine(spoken, style))
      if (isLive) paint()
    },
    sent: (audioMs) => {
      sentMs = audioMs
    },
    end: () => {
      painting?.unsubscribe()
      screen.clear()
    },
  }
}
