import type { Paint } from '../view/paint.js'
import { displayWidth, lastColumns } from '../view/plain-text.js'
import { clockText } from '../view/transcript-line.js'

/** What the microphone and the session do. */
export type ListenState = 'starting' | 'listening' | 'muted' | 'paused' | 'finishing'

export interface Status {
  readonly state: ListenState
  /** How long it has listened. */
  readonly audioMs: number
  /** The loudest sample since the last line, from 0 to 1. */
  readonly peak: number
  /** What the keys do, the most important first; none without a keyboard. */
  readonly keys: readonly (readonly [key: string, meaning: string])[]
}

const titles: Readonly<Record<ListenState, string>> = {
  starting: 'starting',
  listening: 'listening',
  muted: 'muted',
  paused: 'paused',
  finishing: 'the last words',
}

/** The widths of the meter; the narrow one leaves space for keys in a narrow terminal. */
const [wideColumns, narrowColumns] = [16, 6]
/** In a terminal with fewer columns the sign alone says that it listens. */
const narrowTerminal = 60
/** The level at the left end of the meter, and those from which it is loud and too loud, in dB of full scale. */
const [minDb, loudDb, clippingDb] = [-54, -9, -1]

const decibels = (peak: number): number => (peak > 0 ? 20 * Math.log10(peak) : -Infinity)

/** `● listening 00:12 ███████░░░░░░░░░  space mute  q end`, as much of it as fits in `columns`. */
export const statusLine = ({ state, audioMs, peak, keys }: Status, paint: Paint, columns: number): string => {
  const sign = state === 'listening' ? '●' : '○'
  const title = state === 'listening' && columns < narrowTerminal ? '' : ` ${titles[state]}`
  const head = `${sign}${title} ${clockText(audioMs, 0)}`
  if (displayWidth(head) > columns) return lastColumns(clockText(audioMs, 0), columns)
  const painted = state === 'listening' ? paint('red', head.slice(0, 1)) + head.slice(1) : head
  const keyTexts = keys.map(([key, meaning]) => ({
    text: `  ${key} ${paint('dim', meaning)}`,
    width: keyWidth(key, meaning),
  }))
  const keyColumns = keyTexts.reduce((sum, { width }) => sum + width, 0)
  const left = columns - displayWidth(head)
  const hasMeter = state === 'listening'
  const meterColumns =
    !hasMeter || left < narrowColumns + 1 ? 0 : left >= wideColumns + 1 + keyColumns ? wideColumns : narrowColumns
  const meter = meterColumns === 0 ? '' : ` ${meterText(decibels(peak), meterColumns, paint)}`
  let free = left - (meterColumns === 0 ? 0 : meterColumns + 1)
  const shown = keyTexts.filter(({ width }) => (free -= width) >= 0)
  return painted + meter + shown.map(({ text }) => text).join('')
}

const keyWidth = (key: string, meaning: string): number => 3 + displayWidth(key) + displayWidth(meaning)

const meterText = (db: number, columns: number, paint: Paint): string => {
  const part = Math.min(1, Math.max(0, (db - minDb) / -minDb))
  const full = Math.round(part * columns)
  const color = db > clippingDb ? 'red' : db > loudDb ? 'yellow' : 'green'
  return paint(color, '█'.repeat(full)) + paint('dim', '░'.repeat(columns - full))
}
