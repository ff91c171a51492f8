import type { Word } from '../../protocol/session-event.js'
import type { CueTimes } from './caption-cue.js'
import type { CaptionToken } from './caption-tokens.js'

/** A token and its times, in milliseconds of audio. */
export interface TimedToken extends CaptionToken {
  readonly startMs: number
  readonly endMs: number
  readonly times: CueTimes
}

/** The audio in which a range of characters is spoken. */
interface Stretch {
  readonly fromChar: number
  readonly toChar: number
  readonly startMs: number
  readonly endMs: number
}

/** The times of a result. */
export interface Span {
  readonly startMs: number
  readonly endMs: number
  readonly times: CueTimes
  readonly words?: readonly Word[] | undefined
}

/**
 * Assigns times to tokens: those of the words if there are any, with any boundaries (a service may write "3 pm" for
 * "three p m"), otherwise a share of the span by characters. Times never run backwards.
 */
export const timed = (tokens: readonly CaptionToken[], span: Span): readonly TimedToken[] => {
  const { stretches, times } = stretchesOf(span)
  const all = tokens.reduce((sum, { text }) => sum + spokenLength(text), 0)
  const scale = (stretches.at(-1)?.toChar ?? 0) / Math.max(1, all)
  let at = 0
  let stretch = 0
  let endMs = span.startMs
  const timeOf = (char: number, isStart: boolean): number => {
    const reaches = ({ toChar: end }: Stretch): boolean => (isStart ? char < end - slack : char <= end + slack)
    while (stretch < stretches.length - 1 && !reaches(stretches[stretch] ?? nowhere)) stretch += 1
    const { fromChar, toChar, startMs, endMs: toMs } = stretches[stretch] ?? nowhere
    const part = Math.min(1, Math.max(0, (char - fromChar) / Math.max(1, toChar - fromChar)))
    return startMs + part * (toMs - startMs)
  }
  return tokens.map((token) => {
    const startMs = Math.max(endMs, timeOf(at * scale, true))
    at += spokenLength(token.text)
    endMs = Math.max(startMs, timeOf(at * scale, false))
    return { ...token, startMs, endMs, times }
  })
}

/** Characters without spaces, of which a token can contain no-break ones. */
const spokenLength = (text: string): number => text.replace(/\s/gu, '').length

/** Compensates rounding when characters are scaled. */
const slack = 1e-6
const nowhere: Stretch = { fromChar: 0, toChar: 1, startMs: 0, endMs: 0 }

const stretchesOf = ({
  startMs,
  endMs,
  times,
  words = [],
}: Span): { stretches: readonly Stretch[]; times: CueTimes } => {
  let toChar = 0
  const stretches = words.map(({ text, startMs: from, endMs: to }): Stretch => {
    const fromChar = toChar
    toChar += spokenLength(text)
    return { fromChar, toChar, startMs: from, endMs: to }
  })
  const spoken = stretches.filter(({ fromChar, toChar: end }) => end > fromChar)
  if (spoken.length > 0) return { stretches: spoken, times: 'words' }
  return { stretches: [{ fromChar: 0, toChar: 1000, startMs, endMs: Math.max(startMs, endMs) }], times }
}
