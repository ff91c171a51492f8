import type { MarbleChart, MarbleLane } from './marble-chart.js'
import { momentText, ticksOf } from './time-axis.js'

export interface DrawTextOptions {
  /** Columns of the whole drawing, 60 to 400. Default 100. */
  readonly width?: number
}

const leastWidth = 60
const mostWidth = 400
const widestHead = 14

/**
 * Draws a chart in columns: heights for audio, bars for connections and speech, one character for each marble. Marbles
 * that a list below tells of have its letter; `+` stands for more of them than fit.
 */
export const drawText = (chart: MarbleChart, { width = 100 }: DrawTextOptions = {}): string => {
  const columns = Math.min(mostWidth, Math.max(leastWidth, Math.floor(width)))
  const plot = new Plot(chart.durationMs, columns - widestHead - 1)
  const keys = keyed(chart)
  const lanes = chart.lanes.map((lane) => `${headOf(lane.name)} ${plot.lane(lane, keys)}`)
  return [
    chart.title,
    '',
    `${headOf('')} ${plot.labels()}`,
    `${headOf('')} ${plot.rule()}`,
    ...lanes.map((line) => line.trimEnd()),
    ...listOf(keys, columns),
  ].join('\n')
}

const headOf = (name: string): string => name.padEnd(widestHead)

/** Only what is read one by one has a letter. */
const listed: ReadonlySet<string> = new Set(['connection', 'control', 'milestones', 'finals', 'events'])
const letters = '123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

type Marked = MarbleLane['marbles'][number]
interface Key {
  readonly letter: string
  readonly lane: MarbleLane
  readonly marble: Marked
}

const keyed = ({ lanes }: MarbleChart): readonly Key[] =>
  lanes
    .filter(({ kind }) => listed.has(kind))
    .flatMap((lane) => lane.marbles.map((marble) => ({ lane, marble })))
    .sort((one, other) => one.marble.atMs - other.marble.atMs)
    .map((one, index) => ({ ...one, letter: letters[index] ?? '+' }))

/** What the letters stand for, in the order of time. */
const listOf = (keys: readonly Key[], columns: number): readonly string[] => {
  if (keys.length === 0) return []
  const names = Math.max(...keys.map(({ lane }) => lane.name.length))
  const rows = keys.map(({ letter, lane, marble }) => {
    const arrow = marble.isFault === true ? '!' : marble.from === 'client' ? '→' : marble.from === 'service' ? '←' : ' '
    const head = ` ${letter}  ${momentText(marble.atMs).padStart(9)}  ${lane.name.padEnd(names)} ${arrow} `
    return cut(head + oneLine(marble.label), columns)
  })
  return ['', ...rows]
}

const cut = (text: string, columns: number): string => {
  const characters = Array.from(text)
  return characters.length <= columns ? text.trimEnd() : `${characters.slice(0, columns - 1).join('')}…`
}

/** A service's words must not command a terminal. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()

const heights = '▁▂▃▄▅▆▇█'

/** Milliseconds to columns. */
class Plot {
  constructor(
    private readonly durationMs: number,
    private readonly columns: number,
  ) {}

  labels(): string {
    let line = ''
    for (const { atMs, label } of this.#ticks()) {
      const column = this.#column(atMs)
      if (column + label.length <= this.columns && (line === '' || column > line.length))
        line = line.padEnd(column) + label
    }
    return line
  }

  rule(): string {
    const rule = this.#blank('─')
    for (const { atMs } of this.#ticks()) rule[this.#column(atMs)] = '┬'
    return rule.join('')
  }

  lane(lane: MarbleLane, keys: readonly Key[]): string {
    const isBand = lane.kind === 'audio' || lane.kind === 'speech' || lane.kind === 'connection'
    const line = this.#blank(isBand ? ' ' : '─')
    this.#flow(lane, line)
    for (const { fromMs, toMs, isFaint } of lane.bars) {
      for (let column = this.#column(fromMs); column <= this.#column(toMs); column += 1)
        line[column] = isFaint === true ? '┄' : '━'
    }
    const marked = new Set<number>()
    for (const marble of lane.marbles) {
      const column = this.#column(marble.atMs)
      const letter = keys.find((key) => key.marble === marble)?.letter ?? 'o'
      line[column] = marked.has(column) ? (lane.kind === 'partials' ? 'O' : '+') : letter
      marked.add(column)
    }
    return line.join('')
  }

  /** As high as the audio of a column is against that of the fullest. */
  #flow({ flow }: MarbleLane, line: string[]): void {
    const sums = new Array<number>(this.columns).fill(0)
    for (const { atMs, audioMs } of flow) {
      const column = this.#column(atMs)
      sums[column] = (sums[column] ?? 0) + audioMs
    }
    const most = Math.max(...sums)
    for (const [column, sum] of sums.entries()) {
      if (sum > 0) line[column] = heights[Math.max(0, Math.ceil((sum / most) * heights.length) - 1)] ?? ' '
    }
  }

  #ticks(): ReturnType<typeof ticksOf> {
    return ticksOf(this.durationMs, (this.durationMs / this.columns) * 9)
  }

  #column(atMs: number): number {
    if (this.durationMs === 0) return 0
    return Math.min(this.columns - 1, Math.max(0, Math.round((atMs / this.durationMs) * (this.columns - 1))))
  }

  #blank(character: string): string[] {
    return new Array<string>(this.columns).fill(character)
  }
}
