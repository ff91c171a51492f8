import type { Word } from 'rxspeech/internal/protocol/session-event'
import { clamp } from '../decoded-words.js'
import type { SherpaResult } from './package.js'

/** Models write the beginning of a word in a token as U+2581 or as a space. */
const wordStart = /^[\u2581 ]/
/** Scripts without spaces: each character is a word. */
const wordless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
/** A byte of a character, as models write it that have no token for the character. */
const byteToken = /^<0x([0-9A-F]{2})>$/

interface TokenGroup {
  bytes: Buffer
  readonly startS: number
  endS: number | undefined
  readonly logProbs: number[]
}

const bytesOf = (token: string): Buffer => {
  const [, byte] = byteToken.exec(token) ?? []
  return byte === undefined ? Buffer.from(token.replace(wordStart, '')) : Buffer.from(byte, 'hex')
}

/** The tokens of each word, if they have times. */
const groupTokens = (result: SherpaResult): readonly TokenGroup[] => {
  const { tokens = [], timestamps = [], durations = [], ys_probs, ys_log_probs } = result
  if (timestamps.length !== tokens.length) return []
  const logProbs = [ys_probs, ys_log_probs].find((list) => list?.length === tokens.length) ?? []
  const marksWords = tokens.some((token) => wordStart.test(token) || wordless.test(token))
  if (!marksWords) return []
  const groups: TokenGroup[] = []
  let last: TokenGroup | undefined
  let endsWord = true
  for (const [at, token] of tokens.entries()) {
    const startS = timestamps[at] ?? 0
    const durationS = durations[at]
    const endS = durationS === undefined ? undefined : startS + durationS
    if (last === undefined || endsWord || wordStart.test(token) || wordless.test(token)) {
      last = { bytes: bytesOf(token), startS, endS, logProbs: [] }
      groups.push(last)
    } else {
      last.bytes = Buffer.concat([last.bytes, bytesOf(token)])
      last.endS = endS
    }
    endsWord = wordless.test(token)
    const logProb = logProbs[at]
    if (logProb !== undefined) last.logProbs.push(logProb)
  }
  return groups.filter(({ bytes }) => bytes.length > 0)
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The words of a segment, if the model provides tokens with times and marks where words begin; otherwise none. They
 * have a confidence if their tokens have probabilities. Without the length of its last token a word ends where the next
 * begins.
 *
 * @param leadMs how much silence was read before the audio
 */
export const sherpaWords = (result: SherpaResult, startMs: number, endMs: number, leadMs = 0): readonly Word[] => {
  const groups = groupTokens(result)
  const timeOf = (seconds: number): number => clamp(startMs - leadMs + Math.round(seconds * 1000), startMs, endMs)
  let reachedMs = startMs
  return groups.map(({ bytes, startS, endS, logProbs }, at): Word => {
    const wordStartMs = Math.max(timeOf(startS), reachedMs)
    const next = groups[at + 1]
    const nextMs = Math.max(next === undefined ? endMs : timeOf(next.startS), wordStartMs)
    reachedMs = wordStartMs
    return {
      text: bytes.toString(),
      startMs: wordStartMs,
      endMs: endS === undefined ? nextMs : clamp(timeOf(endS), wordStartMs, nextMs),
      ...(logProbs.length > 0 && { confidence: clamp(Math.exp(meanOf(logProbs)), 0, 1) }),
    }
  })
}
