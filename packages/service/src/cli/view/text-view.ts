import { isResult } from 'rxspeech/internal/operators/results/transcript'
import { interval } from 'rxjs'
import { LineOrder } from './line-order.js'
import { noticeOf } from './notice.js'
import { refreshMs, type Pane } from './panes.js'
import { finishedLines, liveLine, type LineStyle, type SpokenText } from './transcript-line.js'
import type { TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

export interface TextViewOptions {
  readonly pane: Pane
  readonly reader: TranscriptReader
  readonly style: LineStyle
  readonly channels: number
  /** Whether audio is sent at a pace, or arrives at one, rather than as fast as the service reads. */
  readonly isPaced: boolean
}

/** The lines without a time come last. */
const timeOf = ({ startMs = Number.MAX_VALUE }: SpokenText): number => startMs

/** How many lines that wait for their turn are shown on a terminal. */
const maxWaitingShown = 4

/**
 * Prints finished lines in the order of time; on a terminal also those that may follow an earlier one, and the words
 * that may still change.
 */
export const openTextView = ({ pane, reader, style, channels, isPaced }: TextViewOptions): View => {
  const order = new LineOrder({ channels, isPaced })
  pane.show({
    live: (columns, rows) =>
      [...order.waiting().slice(-maxWaitingShown), ...reader.live()]
        .toSorted((a, b) => timeOf(a) - timeOf(b))
        // A single one wraps as its finished line does, so that no word moves when it becomes definitive.
        .map((spoken) => liveLine(spoken, style, channels === 1 ? columns * rows : columns)),
  })
  const print = (lines: readonly SpokenText[]): void => {
    if (lines.length > 0) pane.write(lines.map((spoken) => finishedLines(spoken, style)).join(''))
  }
  const printDue = (): void => {
    const lines = order.due(performance.now())
    print(lines)
    if (lines.length > 0) pane.refresh()
  }
  const printing = channels > 1 ? interval(refreshMs).subscribe(printDue) : undefined
  return {
    event: (event, transcript) => {
      const notice = noticeOf(event, style.speakers)
      if (notice !== undefined) pane.note(`${notice}\n`)
      if (!isResult(event)) return
      order.take(event, reader.take(event, transcript))
      print(order.due(performance.now()))
      pane.refresh()
    },
    sent: (audioMs) => order.sent(audioMs, performance.now()),
    end: () => {
      printing?.unsubscribe()
      print(order.rest())
      pane.show({ live: () => [] })
    },
  }
}
