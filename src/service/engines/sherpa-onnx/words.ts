import type { Word } from '../../../protocol/session-event.js'
import type { SherpaResult } from './package.js'

/** Token models write where a word begins as U+2581 or as a space. */
const wordStart = /^[\u2581 ]/

interface Pieces {
  text: string
  readonly startS: number
  readonly logProbs: number[]
}

const piecesOf = ({ tokens = [], timestamps = [], ys_probs: probs = [] }: SherpaResult): readonly Pieces[] => {
  const words: Pieces[] = []
  if (timestamps.length !== tokens.length || probs.length !== tokens.length) return words
  if (!tokens.some((token) => wordStart.test(token))) return words
  for (const [at, token] of tokens.entries()) {
    const text = token.replace(wordStart, '')
    const last = words.at(-1)
    if (last === undefined || wordStart.test(token)) {
      words.push({ text, startS: timestamps[at] ?? 0, logProbs: [probs[at] ?? 0] })
    } else {
      last.text += text
      last.logProbs.push(probs[at] ?? 0)
    }
  }
  return words.filter(({ text }) => text !== '')
}

const clamp = (value: number, from: number, to: number): number => Math.min(Math.max(value, from), to)
const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The words of a segment, where the model tells tokens with times and probabilities and marks where words begin; else
 * none. A model knows where a word begins only, so each ends where the next one does.
 */
export const sherpaWords = (result: SherpaResult, startMs: number, endMs: number): readonly Word[] => {
  const pieces = piecesOf(result)
  const startOf = (piece: Pieces | undefined): number =>
    piece === undefined ? endMs : clamp(startMs + Math.round(piece.startS * 1000), startMs, endMs)
  return pieces.map((piece, at) => {
    const wordStartMs = startOf(piece)
    return {
      text: piece.text,
      startMs: wordStartMs,
      endMs: Math.max(startOf(pieces[at + 1]), wordStartMs),
      confidence: clamp(Math.exp(meanOf(piece.logProbs)), 0, 1),
    }
  })
}
