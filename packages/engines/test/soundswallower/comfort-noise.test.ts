import { describe, expect, it } from 'vitest'
import { ComfortNoise } from '../../src/soundswallower/comfort-noise.js'

const frameSamples = 800

/** As a decoder gives it the audio of a segment. */
const filled = (samples: Int16Array): Int16Array => {
  const noise = new ComfortNoise()
  const parts = []
  for (let at = 0; at < samples.length; at += frameSamples) parts.push(noise.fill(samples.slice(at, at + frameSamples)))
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

const meanOf = (values: Int16Array): number => values.reduce((sum, value) => sum + value, 0) / values.length
const powerOf = (values: Int16Array): number => values.reduce((sum, value) => sum + value ** 2, 0) / values.length
const levelOf = (values: Int16Array): number => 10 * Math.log10(powerOf(values) / 32_768 ** 2)

/** Gaussian noise of a line with a level in dBFS; equal seeds have equal noise. */
const lineNoise = (level: number, length: number, seed: number): Int16Array => {
  const spread = 32_768 * 10 ** (level / 20)
  let state = seed
  const uniform = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state + 1) / 2 ** 32
  }
  return Int16Array.from({ length }, () =>
    Math.round(spread * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())),
  )
}

const tone = (peak: number): Int16Array =>
  Int16Array.from({ length: frameSamples }, (_none, at) => peak * Math.sin(at / 3))

/** What samples become after a frame of sound. */
const filledAfter = (sound: Int16Array, samples: Int16Array): Int16Array =>
  filled(Int16Array.from([...sound, ...samples])).slice(sound.length)

const silence = filledAfter(tone(5000), new Int16Array(16_000))

describe('comfort noise', () => {
  it('fills silence after speech with white noise of -60 dBFS, without an offset', () => {
    expect(levelOf(silence)).toBeCloseTo(-60.4, 0)
    expect(Math.abs(meanOf(silence))).toBeLessThan(2)
    for (const distance of [1, 2, 3, 40]) {
      const products = silence.slice(distance).map((value, at) => (value * (silence[at] ?? 0)) / 100)
      expect(Math.abs(100 * meanOf(products))).toBeLessThan(0.05 * powerOf(silence))
    }
  })

  it('leaves audio with the noise of a quiet line as it is, in its pauses too', () => {
    const tone = Int16Array.from({ length: 8000 }, (_none, at) => 5000 * Math.sin(at / 3))
    for (const seed of [1, 2, 3, 4, 5]) {
      const noise = lineNoise(-60, 40_000, seed)
      const speech = noise.map((value, at) => value + (at < 24_000 ? 0 : (tone[at % 8000] ?? 0)))
      const result = filled(speech)
      expect(speech.filter((value, at) => value !== result[at])).toHaveLength(0)
    }
  })

  it('fills a line with less noise up to -60 dBFS, and not above', () => {
    for (const level of [-80, -70, -66, -64, -62, -61]) {
      const result = levelOf(filledAfter(tone(5000), lineNoise(level, 40_000, 1)))
      expect(Math.abs(result + 60.6)).toBeLessThan(1)
    }
  })

  it('adds nothing to speech before its first pause, and fills the pause if it has no noise', () => {
    const speech = Int16Array.from({ length: 8000 }, (_none, at) => (at < 4000 ? 5000 * Math.sin(at / 3) : 0))
    const result = filled(speech)
    expect(result.slice(0, 4000)).toEqual(speech.slice(0, 4000))
    expect(levelOf(result.slice(4000))).toBeCloseTo(-60.4, 0)
  })

  for (const [peak, level] of [
    [500, -75.4],
    [200, -83.3],
  ] as const) {
    it(`fills silence after soft speech with a peak of ${peak} up to ${level} dBFS, 36 dB below it`, () => {
      expect(Math.abs(levelOf(filledAfter(tone(peak), new Int16Array(16_000))) - level)).toBeLessThan(1)
    })
  }

  it('fills silence before the first word with soft noise', () => {
    expect(Math.abs(levelOf(filled(new Int16Array(16_000))) + 86)).toBeLessThan(1)
  })

  it('gives equal segments equal noise', () => {
    expect(filledAfter(tone(5000), new Int16Array(16_000))).toEqual(silence)
    expect(silence.slice(0, 8000)).not.toEqual(silence.slice(8000))
  })

  it('stays within the range of samples, and leaves those that it is given as they are', () => {
    const loud = Int16Array.from({ length: 1600 }, (_none, at) => (at < 80 ? 0 : at % 2 === 0 ? 32_767 : -32_768))
    const before = loud.slice()
    const result = filled(loud)
    expect(loud).toEqual(before)
    expect(result.slice(80).every((sample, at) => sample > 32_600 === (at % 2 === 0))).toBe(true)
  })
})
