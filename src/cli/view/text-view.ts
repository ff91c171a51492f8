import { interval } from 'rxjs'
import type * as CliProgress from 'cli-progress'
import type { BarFormatter, Options } from 'cli-progress'
import { LineOrder } from './line-order.js'
import { LiveScreen, type ScreenOptions } from './live-screen.js'
import { noticeOf } from './notice.js'
import { finishedLine, liveLine, type LineStyle, type SpokenText, clockText } from './transcript-line.js'
import { isResult, type TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'
import { loadOptional } from '../../service/threads/load-optional.js'
import { lastColumns } from './plain-text.js'

interface TextViewOptions {
  readonly screen: LiveScreen
  readonly reader: TranscriptReader
  readonly style: LineStyle
  readonly channels: number
  /** The duration of the audio, if known. */
  readonly totalMs?: number | undefined
  /** Whether audio is sent at a pace, or arrives at one, rather than as fast as the service reads. */
  readonly isPaced: boolean
  readonly progressLine?: ProgressLine | undefined
  /** The measure of progress: the sent audio for a paced session, otherwise the position of the results. */
  readonly follow: 'sent' | 'results'
}

export interface TerminalViewOptions extends Pick<TextViewOptions, 'reader' | 'style' | 'channels' | 'totalMs'> {
  readonly terminals: ScreenOptions
  /** How fast the audio is sent, in times real time; `Infinity` for as fast as the service reads. */
  readonly speed: number
}

/** The text view on the terminal of a command, with a progress bar if its package is installed. */
export const openTerminalView = async ({ terminals, speed, ...options }: TerminalViewOptions): Promise<View> => {
  const progressLine = await loadProgressLine()
  const follow = speed === Infinity ? 'results' : 'sent'
  // Live audio from a pipe, which has no known duration, arrives in real time.
  const isPaced = speed !== Infinity || options.totalMs === undefined
  return openTextView({ ...options, screen: new LiveScreen(terminals), isPaced, follow, progressLine })
}

/** How often a line that changes is painted again. */
const refreshMs = 100
/** If stdout is a pipe, its reader may print to the same terminal: pause before the progress appears again. */
const pipePauseMs = 150

/** How many lines that wait for their turn are shown on a terminal. */
const maxWaitingShown = 4

/**
 * Prints finished lines in the order of time; on a terminal also those that may follow an earlier one, the words that may
 * still change, and the progress.
 */
const openTextView = (options: TextViewOptions): View => {
  const { screen, reader, style, channels, totalMs, isPaced, progressLine, follow } = options
  const order = new LineOrder({ channels, isPaced })
  let sentMs = 0
  let reachedMs = 0
  let pausedUntilMs = 0

  const paint = (): void => {
    if (performance.now() < pausedUntilMs) return
    const doneMs = follow === 'sent' ? sentMs : Math.min(reachedMs, sentMs)
    const columns = screen.columns
    screen.paint(
      [...order.waiting().slice(-maxWaitingShown), ...reader.live()].map((spoken) => liveLine(spoken, style, columns)),
      progressLine?.({ doneMs, totalMs }, columns),
    )
  }
  const print = (lines: readonly SpokenText[]): void => {
    for (const spoken of lines) screen.print(finishedLine(spoken, style))
    if (lines.length > 0 && !screen.showsLive) pausedUntilMs = performance.now() + pipePauseMs
  }
  const isLive = screen.showsLive || screen.showsProgress
  const refresh = (): void => {
    print(order.due(performance.now()))
    if (isLive) paint()
  }
  const refreshing = isLive || channels > 1 ? interval(refreshMs).subscribe(refresh) : undefined

  return {
    event: (event, transcript) => {
      const notice = noticeOf(event, style.speakers)
      if (notice !== undefined) screen.note(notice)
      if (!isResult(event) || transcript === undefined) return
      reachedMs = Math.max(reachedMs, event.endMs ?? event.startMs ?? 0)
      order.take(event, reader.take(event, transcript))
      refresh()
    },
    sent: (audioMs) => {
      sentMs = audioMs
      order.sent(audioMs, performance.now())
    },
    end: () => {
      refreshing?.unsubscribe()
      print(order.rest())
      screen.clear()
    },
  }
}

/** The progress: milliseconds of audio done, and in total, if known. */
interface Progress {
  readonly doneMs: number
  readonly totalMs?: number | undefined
}

/** The progress as a line, not wider than `columns`. */
type ProgressLine = (progress: Progress, columns: number) => string

const barOptions: Options = { barCompleteString: '█'.repeat(40), barIncompleteString: '░'.repeat(40), barGlue: '' }
const maxBarColumns = 40

/**
 * Loads the package for progress bars, which is optional: undefined without it. Only its drawing of the bar is used,
 * because the package would write to the terminal by its own timer.
 */
const loadProgressLine = async (): Promise<ProgressLine | undefined> => {
  const loaded = await loadOptional<{ readonly default: typeof CliProgress }>('cli-progress', 'A progress bar').catch(
    () => undefined,
  )
  return loaded && progressLine(loaded.default.Format.BarFormat)
}

export const progressLine =
  (bar: BarFormatter): ProgressLine =>
  ({ doneMs, totalMs }, columns) => {
    if (totalMs === undefined || totalMs <= 0) return lastColumns(`${clockText(doneMs)} of audio`, columns)
    const part = Math.min(1, Math.max(0, doneMs / totalMs))
    const times = ` ${String(Math.floor(part * 100)).padStart(3)} %  ${clockText(part * totalMs)} / ${clockText(totalMs)}`
    const barsize = Math.min(maxBarColumns, columns - times.length)
    return barsize < 4 ? lastColumns(times.trim(), columns) : bar(part, { ...barOptions, barsize }) + times
  }
