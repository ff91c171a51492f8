import { describe, expect, it } from 'vitest'
import { steadyAudio } from '../../src/soundswallower/steady-audio.js'

const random = (seed: number) => {
  let state = seed
  return (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}

/** Two words of pulses at 100 Hz that rise to 130 Hz, between 400 ms of silence, 300 ms and 500 ms. */
const words = (amplitude = 1): readonly number[] =>
  Array.from({ length: 16_000 }, (_none, at) => {
    const isSound = (at >= 3200 && at < 6400) || (at >= 8800 && at < 12_000)
    const phase = (at * (100 + at / 1000)) % 8000
    const loudness = at < 7000 ? 18_000 : 27_000 * Math.sin((Math.PI * (at - 8800)) / 3200)
    return isSound ? amplitude * loudness * Math.exp(-phase / 1500) * Math.cos(phase / 200) : 0
  })

const onLine = (samples: readonly number[], { before = 0, noise = 0 } = {}): Int16Array => {
  const next = random(7)
  return Int16Array.from([...Array.from({ length: before }, () => 0), ...samples], (sample) =>
    Math.round(sample + noise * next()),
  )
}

const levelDb = (samples: Float32Array): number =>
  10 * Math.log10(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)

const plain = steadyAudio(onLine(words()))
/** How far the samples of another segment are from those of the plain one, in dB below these. */
const distanceDb = (segment: Int16Array): number => {
  const { samples } = steadyAudio(segment)
  expect(samples).toHaveLength(plain.samples.length)
  return levelDb(plain.samples) - levelDb(samples.map((sample, at) => sample - (plain.samples[at] ?? 0)))
}

describe('steady audio', () => {
  it('is the same wherever a segment begins, and says how much it left out', () => {
    for (let before = 1; before <= 160; before += 13) {
      const { samples, skippedMs } = steadyAudio(onLine(words(), { before }))
      expect(samples).toEqual(plain.samples)
      expect(Math.abs(skippedMs - plain.skippedMs - before / 8)).toBeLessThanOrEqual(1)
    }
  })

  it('is the same at any level but for rounding, and changes little by noise at -60 dBFS', () => {
    for (const gain of [0.1, 0.5, 0.9, 1.1]) expect(distanceDb(onLine(words(gain)))).toBeGreaterThan(55)
    expect(distanceDb(onLine(words(), { noise: 57 }))).toBeGreaterThan(30)
  })

  it('leaves out silence but for a quarter of a second before and after the sound', () => {
    expect(Math.abs(plain.skippedMs - 150)).toBeLessThanOrEqual(10)
    expect(Math.abs(plain.samples.length - (12_000 - 3200 + 4000))).toBeLessThanOrEqual(160)
  })

  it('has noise 45 dB below its loudest frame as far as the line has less', () => {
    const pause = (samples: Float32Array): number => levelDb(samples.slice(5400, 7200))
    expect(Math.abs(pause(plain.samples) + 59)).toBeLessThan(0.5)
    const [quiet, noisy] = [20, 300].map((noise) => steadyAudio(onLine(words(), { noise })).samples)
    expect(Math.abs(pause(quiet ?? plain.samples) + 59)).toBeLessThan(1)
    const own = onLine(words(), { noise: 300 })
    const gain = Math.max(...(noisy ?? [])) / Math.max(...own)
    expect(noisy?.every((sample) => Math.abs(sample / gain - Math.round(sample / gain)) < 0.01)).toBe(true)
  })

  it('takes segments that are shorter than a frame, and silence', () => {
    for (const length of [0, 1, 79, 80, 159, 161, 2000]) {
      const { samples } = steadyAudio(new Int16Array(length))
      expect(samples.length).toBeLessThanOrEqual(length)
      expect(samples.every(Number.isFinite)).toBe(true)
    }
  })
})
