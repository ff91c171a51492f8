import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { SegmentText } from './engine.js'
import type { SlotReader } from './models/slots.js'

/** A word as decoders of the Sphinx family return it; times are in milliseconds since the start of the segment. */
export interface DecodedWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly posterior: number
}

/** Silence, noises and joints between rules are written as `<sil>`, `[NOISE]`, `++UM++` and `(NULL)`. */
export const isSpoken = (text: string): boolean => !/^[<[(+]/.test(text)

export const clamp = (value: number, min: number, max: number): number => Math.min(Math.max(value, min), max)

export const textOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ')

/** The text of a segment with its slots, if it is a whole sentence of a grammar whose tags set some. */
export const withSlots = (
  words: readonly Word[],
  text: SegmentText | undefined,
  readSlots: SlotReader | undefined,
): SegmentText | undefined => {
  if (readSlots === undefined || words.length === 0 || text?.isIncomplete) return text
  const slots = readSlots(words.map((word) => word.text))
  return slots === undefined ? text : { text: textOf(words), ...text, slots }
}

/**
 * The spoken words of a segment in the session's time: silences and noises are left out, and variants of a
 * pronunciation such as `to(2)` are written as the word.
 */
export const spokenWords = (words: readonly DecodedWord[], startMs: number, endMs: number): readonly Word[] =>
  words
    .filter(({ text }) => isSpoken(text))
    .map((word) => {
      const wordStartMs = clamp(startMs + word.startMs, startMs, endMs)
      return {
        text: word.text.replace(/\(\d+\)$/, ''),
        startMs: wordStartMs,
        endMs: clamp(startMs + word.endMs, wordStartMs, endMs),
        confidence: clamp(word.posterior, 0, 1),
      }
    })
