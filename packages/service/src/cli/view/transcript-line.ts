import type { Word } from 'rxspeech/internal/protocol/session-event'
import { lastColumns, displayWidth, plainText } from './plain-text.js'
import type { Color, Paint } from './paint.js'

/** A piece of speech: where it begins in the audio, its channel, and its words. */
export interface SpokenText {
  readonly startMs?: number | undefined
  /** 0 or 1. */
  readonly channel: number
  readonly text: string
  /** How much of the text no longer changes, as in `PartialEvent`. @default 0 */
  readonly stableLength?: number | undefined
  /** Its words, if the service sends them. */
  readonly words?: readonly Word[] | undefined
}

/** `mm:ss.s`, or with other decimals; there is no hour, so minutes exceed 59. */
export const clockText = (ms: number, decimals = 1): string => {
  const unit = 10 ** decimals
  const units = Math.floor((Math.max(0, ms) * unit) / 1000)
  const [minutes, seconds] = [Math.floor(units / unit / 60), Math.floor(units / unit) % 60]
  const two = (count: number): string => String(count).padStart(2, '0')
  const fraction = decimals === 0 ? '' : `.${String(units % unit).padStart(decimals, '0')}`
  return `${two(minutes)}:${two(seconds)}${fraction}`
}

const colorOf = (channel: number): Color => (channel === 0 ? 'cyan' : 'magenta')

export interface LineStyle {
  /** The names of the channels; none for one channel. */
  readonly speakers: readonly string[]
  readonly paint: Paint
  /** Whether the words of a line follow it, each with its times and confidence. @default false */
  readonly hasWords?: boolean | undefined
}

const headOf = (
  { startMs, channel }: SpokenText,
  { speakers }: LineStyle,
): readonly [time: string, speaker: string] => [
  startMs === undefined ? '' : `[${clockText(startMs)}] `,
  speakers[channel] === undefined ? '' : `${speakers[channel]}: `,
]

/**
 * `[mm:ss.s] speaker: text`, without the time if the service sends none, without the speaker if there is only one; then
 * a line `  mm:ss.ss – mm:ss.ss  0.93  word` for each word, if the style has them.
 */
export const finishedLines = (spoken: SpokenText, style: LineStyle): string => {
  const [time, speaker] = headOf(spoken, style)
  const line = style.paint('dim', time) + style.paint(colorOf(spoken.channel), speaker) + plainText(spoken.text)
  const words = style.hasWords === true ? (spoken.words ?? []) : []
  return [line, ...words.map((word) => wordLine(word, style))].map((text) => `${text}\n`).join('')
}

const wordLine = ({ startMs, endMs, confidence, text }: Word, { paint }: LineStyle): string => {
  const numbers = `  ${clockText(startMs, 2)} – ${clockText(endMs, 2)}  ${confidence?.toFixed(2) ?? ' –  '}`
  return `${paint('dim', numbers)}  ${plainText(text)}`
}

/** The same for words that may still change, cut to `columns`: their end is what matters. What may change is dim. */
export const liveLine = (spoken: SpokenText, style: LineStyle, columns: number): string => {
  const [time, speaker] = headOf(spoken, style)
  const text = plainText(spoken.text)
  const { stableLength = 0 } = spoken
  const changing = text.length - plainText(spoken.text.slice(0, stableLength)).length
  const painted = (fitting: number): string => {
    const shown = lastColumns(text, fitting)
    const at = Math.max(shown.length - changing, 0)
    return shown.slice(0, at) + style.paint('dim', shown.slice(at))
  }
  const textColumns = columns - displayWidth(time + speaker)
  // If the head does not fit beside a few words, only the words.
  if (textColumns < 8) return painted(columns)
  return style.paint('dim', time) + style.paint(colorOf(spoken.channel), speaker) + painted(textColumns)
}
