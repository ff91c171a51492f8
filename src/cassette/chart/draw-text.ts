import type { Chart, ChartRow, Marble } from './chart.js'
import { formatTime, ticksOf } from './time-axis.js'

/** The columns of a drawing. */
export const textColumns = { min: 60, max: 400 } as const
const nameWidth = 14

/**
 * Draws a chart in columns of text: heights for audio, bars for connections and speech, one character for each marble.
 * A letter refers to the list below the chart; `+` stands for several marbles in one column.
 *
 * @param columns of `textColumns`
 */
export const drawText = (chart: Chart, columns = 100): string => {
  const plot = new Plot(chart.durationMs, columns - nameWidth - 1)
  const entries = entriesOf(chart)
  const rows = chart.rows.map((row) => `${row.name.padEnd(nameWidth)} ${plot.row(row, entries)}`)
  return [
    chart.title,
    '',
    `${' '.repeat(nameWidth)} ${plot.labels()}`,
    `${' '.repeat(nameWidth)} ${plot.axis()}`,
    ...rows.map((line) => line.trimEnd()),
    ...listOf(entries, columns),
  ].join('\n')
}

/** The kinds of rows whose marbles are listed. */
const listedKinds: ReadonlySet<string> = new Set(['connection', 'control', 'milestones', 'finals', 'events'])
const letters = '123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

interface Entry {
  readonly letter: string
  readonly row: ChartRow
  readonly marble: Marble
}

const entriesOf = ({ rows }: Chart): readonly Entry[] =>
  rows
    .filter(({ kind }) => listedKinds.has(kind))
    .flatMap((row) => row.marbles.map((marble) => ({ row, marble })))
    .sort((a, b) => a.marble.atMs - b.marble.atMs)
    .map((entry, index) => ({ ...entry, letter: letters[index] ?? '+' }))

const listOf = (entries: readonly Entry[], columns: number): readonly string[] => {
  if (entries.length === 0) return []
  const maxNameLength = Math.max(...entries.map(({ row }) => row.name.length))
  const lines = entries.map(({ letter, row, marble }) => {
    const arrow = marble.isFault === true ? '!' : marble.from === 'client' ? '→' : marble.from === 'service' ? '←' : ' '
    const head = ` ${letter}  ${formatTime(marble.atMs).padStart(9)}  ${row.name.padEnd(maxNameLength)} ${arrow} `
    return truncate(head + oneLine(marble.label), columns)
  })
  return ['', ...lines]
}

const truncate = (text: string, columns: number): string => {
  const characters = Array.from(text)
  return characters.length <= columns ? text.trimEnd() : `${characters.slice(0, columns - 1).join('')}…`
}

/** Removes control characters, so that a text of the service cannot control the terminal. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()

const heights = '▁▂▃▄▅▆▇█'

/** Converts milliseconds to columns. */
class Plot {
  readonly #durationMs: number
  readonly #columns: number

  constructor(durationMs: number, columns: number) {
    this.#durationMs = durationMs
    this.#columns = columns
  }

  labels(): string {
    let line = ''
    for (const { atMs, label } of this.#ticks()) {
      const column = this.#column(atMs)
      if (column + label.length <= this.#columns && (line === '' || column > line.length))
        line = line.padEnd(column) + label
    }
    return line
  }

  axis(): string {
    const axis = this.#fill('─')
    for (const { atMs } of this.#ticks()) axis[this.#column(atMs)] = '┬'
    return axis.join('')
  }

  row(row: ChartRow, entries: readonly Entry[]): string {
    const hasNoRail = row.kind === 'audio' || row.kind === 'speech' || row.kind === 'connection'
    const line = this.#fill(hasNoRail ? ' ' : '─')
    this.#drawAudio(row, line)
    for (const { fromMs, toMs, isFaint } of row.bars) {
      for (let column = this.#column(fromMs); column <= this.#column(toMs); column += 1)
        line[column] = isFaint === true ? '┄' : '━'
    }
    const marked = new Set<number>()
    for (const marble of row.marbles) {
      const column = this.#column(marble.atMs)
      const letter = entries.find((entry) => entry.marble === marble)?.letter ?? 'o'
      line[column] = marked.has(column) ? (row.kind === 'partials' ? 'O' : '+') : letter
      marked.add(column)
    }
    return line.join('')
  }

  /** The column with the most audio has the full height. */
  #drawAudio({ audio }: ChartRow, line: string[]): void {
    const sums = new Array<number>(this.#columns).fill(0)
    for (const { atMs, audioMs } of audio) {
      const column = this.#column(atMs)
      sums[column] = (sums[column] ?? 0) + audioMs
    }
    const max = Math.max(...sums)
    for (const [column, sum] of sums.entries()) {
      if (sum > 0) line[column] = heights[Math.max(0, Math.ceil((sum / max) * heights.length) - 1)] ?? ' '
    }
  }

  #ticks(): ReturnType<typeof ticksOf> {
    return ticksOf(this.#durationMs, (this.#durationMs / this.#columns) * 9)
  }

  #column(atMs: number): number {
    if (this.#durationMs === 0) return 0
    return Math.min(this.#columns - 1, Math.max(0, Math.round((atMs / this.#durationMs) * (this.#columns - 1))))
  }

  #fill(character: string): string[] {
    return new Array<string>(this.#columns).fill(character)
  }
}
