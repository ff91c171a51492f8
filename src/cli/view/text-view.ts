import { interval } from 'rxjs'
import type { LiveScreen } from './live-screen.js'
import { noticeOf } from './notice.js'
import type { ProgressLine } from './progress.js'
import { finishedLine, liveLine, type LineStyle } from './transcript-line.js'
import { isResult, type TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

export interface TextViewOptions {
  readonly screen: LiveScreen
  readonly reader: TranscriptReader
  readonly style: LineStyle
  /** How long the audio lasts, where that is known. */
  readonly totalMs?: number
  readonly progressLine?: ProgressLine
  /** What the progress follows: the audio sent, for a paced session; else what the results have reached. */
  readonly follow: 'sent' | 'heard'
}

/** How often a line that changes is painted anew. */
const refreshMs = 100
/** Where stdout is a pipe, who reads it may print to the same terminal: time for that before the progress is back. */
const printingMs = 150

/** Finished lines as they come; on a terminal also what is being said, and how far the work is. */
export const openTextView = (options: TextViewOptions): View => {
  const { screen, reader, style, totalMs, progressLine, follow } = options
  let sentMs = 0
  let heardMs = 0
  let quietUntilMs = 0

  const paint = (): void => {
    if (performance.now() < quietUntilMs) return
    const doneMs = follow === 'sent' ? sentMs : Math.min(heardMs, sentMs)
    const columns = screen.columns
    screen.paint(
      reader.live().map((said) => liveLine(said, style, columns)),
      progressLine?.({ doneMs, ...(totalMs === undefined ? {} : { totalMs }) }, columns),
    )
  }
  const print = (line: string): void => {
    screen.print(line)
    if (!screen.showsLive) quietUntilMs = performance.now() + printingMs
  }
  const isLive = screen.showsLive || screen.showsProgress
  const painting = isLive ? interval(refreshMs).subscribe(paint) : undefined

  return {
    event: (event, transcript) => {
      const notice = noticeOf(event, style.speakers)
      if (notice !== undefined) screen.note(notice)
      if (!isResult(event) || transcript === undefined) return
      heardMs = Math.max(heardMs, event.endMs ?? event.startMs ?? 0)
      const said = reader.take(event, transcript)
      if (said !== undefined) print(finishedLine(said, style))
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
