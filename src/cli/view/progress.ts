import type * as CliProgress from 'cli-progress'
import type { BarFormatter, Options } from 'cli-progress'
import { loadOptional } from '../../service/threads/load-optional.js'
import { clockText } from './transcript-line.js'
import { lastColumns } from './plain-text.js'

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
