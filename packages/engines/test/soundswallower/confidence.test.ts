import { describe, expect, it } from 'vitest'
import {
  comparedConfidence,
  comparedFeatures,
  confidenceOfReading,
  isClear,
  leastConfidence,
  readingFeatures,
  type WordFit,
} from '../../src/soundswallower/confidence.js'
import { fitOf } from '../../src/soundswallower/rated-reading.js'

const fitting: WordFit = { frames: 32, phones: 4, score: -320 }
const ofWords = (words: readonly WordFit[], innerSilence = 0, unread = 0): number =>
  confidenceOfReading(readingFeatures({ words, innerSilence, unread }))

describe('the confidence of a reading by itself', () => {
  it('is high if all words fit alike, and low if none does', () => {
    expect(ofWords([fitting, fitting, fitting])).toBeGreaterThan(0.9)
    const foreign = { ...fitting, score: -3200 }
    expect(ofWords([foreign, foreign, foreign])).toBeLessThan(0.02)
  })

  it('falls with one word that does not fit, with words too long or too short for their phones, with silence between them and speech outside of them', () => {
    const good = ofWords([fitting, fitting, fitting])
    expect(ofWords([fitting, { ...fitting, score: -1600 }, fitting])).toBeLessThan(good)
    expect(ofWords([fitting, { ...fitting, frames: 100, score: -1000 }, fitting])).toBeLessThan(good)
    expect(ofWords([fitting, fitting, fitting], 60)).toBeLessThan(good)
    expect(ofWords([fitting, fitting, fitting], 0, 100)).toBeLessThan(good)
  })

  it('counts the frames and phones of spoken words, and the silence between them', () => {
    const word = (text: string, startMs: number, endMs: number) => ({ text, startMs, endMs, posterior: 0.9 })
    const words = [
      word('<sil>', 0, 300),
      word('ten', 300, 600),
      word('<sil>', 600, 700),
      word('(NULL)', 690, 700),
      word('clubs', 700, 1200),
      word('<sil>', 1200, 1600),
    ]
    const score = Math.log(0.9) / Math.log(1.0001)
    const ofTheWords = {
      words: [
        { frames: 30, phones: 3, score },
        { frames: 50, phones: 5, score },
      ],
      innerSilence: 10,
    }
    expect(fitOf({ words, samples: undefined }, (text) => text.length)).toEqual({ ...ofTheWords, unread: 0 })
    const samples = Float32Array.from({ length: 16_000 }, (_none, at) => (at >= 2400 && at < 12_000 ? Math.sin(at) : 0))
    expect(fitOf({ words, samples }, (text) => text.length)).toEqual({ ...ofTheWords, unread: 25 })
  })

  it('stays finite for a word whose posterior is 0, and for one without phones', () => {
    const ten = { text: 'ten', startMs: 0, endMs: 0, posterior: 0 }
    const fit = fitOf({ words: [ten], samples: new Float32Array() }, () => 0)
    expect(ofWords(fit.words)).toBeGreaterThanOrEqual(0)
  })
})

describe('the confidence after a comparison with any phones', () => {
  const features = readingFeatures({ words: [fitting, fitting, fitting], innerSilence: 0, unread: 0 })
  const compared = (...words: readonly (readonly number[])[]): number =>
    comparedConfidence(features, comparedFeatures(words))
  const flat = (value: number): readonly number[] => new Array<number>(40).fill(value)

  it('falls the better any phones fit', () => {
    const confidences = [0, -20, -60, -150].map((value) => compared(flat(value), flat(value), flat(value)))
    expect(confidences).toEqual(confidences.toSorted((a, b) => b - a))
    expect(confidences[0]).toBeGreaterThan(0.9)
    expect(confidences[3]).toBeLessThan(0.05)
  })

  it('falls with one word that any phones fit better, wherever it is', () => {
    const good = compared(flat(0), flat(0), flat(0))
    for (const at of [0, 1, 2]) {
      const words = [flat(0), flat(0), flat(0)]
      words[at] = flat(-120)
      expect(compared(...words)).toBeLessThan(good / 2)
    }
  })

  it('has the least means of runs of 0.4 and 0.2 s, the mean, and the worst word', () => {
    const words = [flat(0), [...flat(0).slice(0, 20), ...flat(-40).slice(0, 20)], flat(0)]
    expect(comparedFeatures(words)).toEqual([-20, -40, -800 / 120, -800 / 45])
    expect(comparedFeatures([[-10, -20]])).toEqual([-15, -15, -15, -30 / 7])
  })
})

it('accepts less at each level, and decides by the reading itself only what no level decides otherwise', () => {
  const levels = [leastConfidence.off, leastConfidence.low, leastConfidence.medium, leastConfidence.high]
  expect(levels).toEqual([...new Set(levels)].toSorted((a, b) => a - b))
  expect([0.01, 0.99].map(isClear)).toEqual([true, true])
  expect([leastConfidence.low, leastConfidence.medium, leastConfidence.high].map(isClear)).toEqual([
    false,
    false,
    false,
  ])
})
