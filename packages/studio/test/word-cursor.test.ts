import { describe, expect, it } from 'vitest'
import type { TranscriptLine } from '../src/state/transcript.js'
import { audioOf, neighborOf, wordAtMs } from '../src/state/word-cursor.js'

const line = (
  id: number,
  channel: number,
  times: 'service' | 'estimate',
  ranges: readonly (readonly number[])[],
): TranscriptLine => ({
  id,
  channel,
  startMs: ranges[0]?.[0] ?? 0,
  endMs: ranges.at(-1)?.[1] ?? 0,
  words: ranges.map(([startMs = 0, endMs = 0]) => ({ text: 'word', startMs, endMs, times })),
  status: 'recognized',
  starts: [0],
})

/** The second line is spoken into the first one. */
const state = {
  lines: [
    line(1, 0, 'service', [
      [100, 500],
      [900, 1200],
    ]),
    line(2, 1, 'estimate', [[600, 800]]),
  ],
}

describe('the word cursor', () => {
  it('finds the word that is spoken at a position', () => {
    expect(wordAtMs(state, 100)).toMatchObject({ line: 1, word: 0 })
    expect(wordAtMs(state, 700)).toMatchObject({ line: 2, word: 0 })
    expect(wordAtMs(state, 500)).toBeUndefined()
  })

  it('moves in the order of time, from speaker to speaker', () => {
    expect(neighborOf(state, { line: 1, word: 0 }, 1)).toMatchObject({ line: 2, word: 0, startMs: 600 })
    expect(neighborOf(state, { line: 1, word: 1 }, -1)).toMatchObject({ line: 2, word: 0 })
  })

  it('begins at the first or the last word, and stays between them', () => {
    expect(neighborOf(state, undefined, 1)).toMatchObject({ line: 1, word: 0 })
    expect(neighborOf(state, undefined, -1)).toMatchObject({ line: 1, word: 1 })
    expect(neighborOf(state, { line: 1, word: 0 }, -1)).toBeUndefined()
    expect(neighborOf(state, { line: 1, word: 1 }, 1)).toBeUndefined()
    expect(neighborOf({ lines: [] }, undefined, 1)).toBeUndefined()
  })

  it('gives the audio of a word, with a margin if its times are an estimate', () => {
    expect(audioOf(state, { line: 1, word: 0 })).toEqual({ channel: 0, fromMs: 100, toMs: 500 })
    expect(audioOf(state, { line: 2, word: 0 })).toEqual({ channel: 1, fromMs: 480, toMs: 920 })
    expect(audioOf(state, { line: 3, word: 0 })).toBeUndefined()
  })
})
