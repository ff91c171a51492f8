import type { Word } from '../../protocol/session-event.js'

/** A word as the decoders of the Sphinx family give it; times count from the segment's start. */
export interface DecodedWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly posterior: number
}

/** Silence, noises and joints between rules are written as `<sil>`, `[NOISE]`, `++UM++` and `(NULL)`. */
const isSpoken = (text: string): boolean => !/^[<[(+]/.test(text)
const clamp = (value: number, from: number, to: number): number => Math.min(Math.max(value, from), to)

/** What was spoken of a segment: without its silences and noises, variants such as `to(2)` by their word, in session time. */
export const spokenWords = (words: readonly DecodedWord[], startMs: number, endMs: number): readonly Word[] =>
  words
    .filter(({ text }) => isSpoken(text))
    .map(({ text, posterior, ...times }) => {
      const wordStartMs = clamp(startMs + times.startMs, startMs, endMs)
      return {
        text: text.replace(/\(\d+\)$/, ''),
        startMs: wordStartMs,
        endMs: clamp(startMs + times.endMs, wordStartMs, endMs),
        confidence: clamp(posterior, 0, 1),
      }
    })
