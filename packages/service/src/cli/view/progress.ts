import type { BarFormatter, Options } from 'cli-progress'
import type { Pane } from './panes.js'
import { sizeText } from 'rxspeech-engines/catalogue/disk-space'
import { displayWidth, lastColumns, plainText } from './plain-text.js'
import { clockText } from './transcript-line.js'
import { isResult } from 'rxspeech/internal/operators/results/transcript'
import type { View } from './view.js'

/** The progress: milliseconds of audio done, and in total, if known. */
interface Progress {
  readonly doneMs: number
  readonly totalMs?: number | undefined
}

/** The progress as a line, not wider than `columns`. */
export type ProgressLine = (progress: Progress, columns: number) => string

const barOptions: Options = { barCompleteString: '█'.repeat(40), barIncompleteString: '░'.repeat(40), barGlue: '' }
const maxBarColumns = 40

/**
 * Loads the package for progress bars, which is optional: undefined without it. Only its drawing of the bar is used,
 * because the package would write to the terminal by its own timer.
 */
export const loadProgressLine = async (): Promise<ProgressLine | undefined> => {
  const loaded = await import('cli-progress').catch(() => undefined)
  return loaded && progressLine(loaded.default.Format.BarFormat)
}

export const progressLine =
  (bar: BarFormatter): ProgressLine =>
  ({ doneMs, totalMs }, columns) => {
    if (totalMs === undefined || totalMs <= 0) return lastColumns(`${clockText(doneMs)} of audio`, columns)
    const part = Math.min(1, Math.max(0, doneMs / totalMs))
    const percent = ` ${String(Math.floor(part * 100)).padStart(3)} %`
    const times = `${percent}  ${clockText(part * totalMs)} / ${clockText(totalMs)}`
    const barsize = Math.min(maxBarColumns, columns - times.length)
    if (barsize >= 4) return bar(part, { ...barOptions, barsize }) + times
    return times.trim().length <= columns ? times.trim() : lastColumns(percent.trim(), columns)
  }

/** The name of a recording takes at most this part of a line; its end distinguishes paths. */
const maxNamePart = 0.4
const maxNameColumns = 30

const named = (name: string | undefined, columns: number): string => {
  if (name === undefined) return ''
  const width = Math.min(maxNameColumns, Math.floor(columns * maxNamePart))
  const shown = lastColumns(plainText(name), width)
  return `${shown}${' '.repeat(width - displayWidth(shown))} `
}

/** The progress of one of several recordings before its session. */
export const startingLine = (name: string, columns: number): string => {
  const head = named(name, columns)
  return head + lastColumns('starting', columns - displayWidth(head))
}

/** The progress of a recording whose file is downloaded. */
export const downloadLine = (
  name: string | undefined,
  doneBytes: number,
  totalBytes: number | undefined,
  columns: number,
): string => {
  const head = named(name, columns)
  const total = totalBytes === undefined ? '' : ` of ${sizeText(totalBytes)}`
  return head + lastColumns(`downloading, ${sizeText(doneBytes)}${total}`, columns - displayWidth(head))
}

export interface ProgressOptions {
  readonly progressLine: ProgressLine
  /** Before the progress, if there are several recordings. */
  readonly name?: string | undefined
  /** The duration of the audio, if known. */
  readonly totalMs?: number | undefined
  /** The measure of progress: the sent audio for a paced session, otherwise the position of the results. */
  readonly follow: 'sent' | 'results'
}

/** The same view, whose progress the pane shows. */
export const withProgress = (view: View, pane: Pane, options: ProgressOptions): View => {
  const { progressLine: line, name, totalMs, follow } = options
  let sentMs = 0
  let reachedMs = 0
  pane.show({
    progress: (columns) => {
      const head = named(name, columns)
      const doneMs = follow === 'sent' ? sentMs : Math.min(reachedMs, sentMs)
      return head + line({ doneMs, totalMs }, columns - displayWidth(head))
    },
  })
  return {
    event: (event, transcript) => {
      if (isResult(event)) reachedMs = Math.max(reachedMs, event.endMs ?? event.startMs ?? 0)
      view.event(event, transcript)
    },
    sent: (audioMs) => {
      sentMs = audioMs
      view.sent(audioMs)
    },
    end: view.end,
  }
}
