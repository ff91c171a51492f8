import { lastColumns, displayWidth, plainText } from './plain-text.js'
import type { Color, Paint } from './paint.js'

/** A piece of speech: where it begins in the audio, its channel, and its words. */
export interface SpokenText {
  readonly startMs?: number | undefined
  /** 0 or 1. */
  readonly channel: number
  readonly text: string
}

/** `mm:ss.s`; there is no hour, so minutes exceed 59. */
export const clockText = (ms: number): string => {
  const tenths = Math.floor(Math.max(0, ms) / 100)
  const minutes = Math.floor(tenths / 600)
  const seconds = Math.floor(tenths / 10) % 60
  return `${String(minutes).padStart(2, '0')}:${String(seconds).padStart(2, '0')}.${tenths % 10}`
}

const colorOf = (channel: number): Color => (channel === 0 ? 'cyan' : 'magenta')

export interface LineStyle {
  /** The names of the channels; none for one channel. */
  readonly speakers: readonly string[]
  readonly paint: Paint
}

const headOf = (
  { startMs, channel }: SpokenText,
  { speakers }: LineStyle,
): readonly [time: string, speaker: string] => [
  startMs === undefined ? '' : `[${clockText(startMs)}] `,
  speakers[channel] === undefined ? '' : `${speakers[channel]}: `,
]

/** `[mm:ss.s] speaker: text`; without the time if the service sends none, without the speaker if there is only one. */
export const finishedLine = (spoken: SpokenText, style: LineStyle): string => {
  const [time, speaker] = headOf(spoken, style)
  return style.paint('dim', time) + style.paint(colorOf(spoken.channel), speaker) + plainText(spoken.text)
}

/** The same for words that may still change, cut to `columns`: their end is what matters. */
export const liveLine = (spoken: SpokenText, style: LineStyle, columns: number): string => {
  const [time, speaker] = headOf(spoken, style)
  const text = plainText(spoken.text)
  const textColumns = columns - displayWidth(time + speaker)
  // If the head does not fit beside a few words, only the words.
  if (textColumns < 8) return style.paint('dim', lastColumns(text, columns))
  return (
    style.paint('dim', time) +
    style.paint(colorOf(spoken.channel), speaker) +
    style.paint('dim', lastColumns(text, textColumns))
  )
}
