import { describe, expect, it } from 'vitest'
import { withComfortNoise } from '../../../../src/service/engines/soundswallower/comfort-noise.js'

const meanOf = (values: Int16Array): number => values.reduce((sum, value) => sum + value, 0) / values.length
const powerOf = (values: Int16Array): number => values.reduce((sum, value) => sum + value ** 2, 0) / values.length

const silence = withComfortNoise(new Int16Array(8000), 0)

describe('comfort noise', () => {
  it('has a level of -60 dBFS and no offset', () => {
    expect(10 * Math.log10(powerOf(silence) / 32_768 ** 2)).toBeCloseTo(-60.4, 0)
    expect(Math.abs(meanOf(silence))).toBeLessThan(2)
  })

  it('is white: its samples tell nothing of the next ones', () => {
    for (const distance of [1, 2, 3, 40]) {
      const products = silence.slice(distance).map((value, at) => (value * (silence[at] ?? 0)) / 100)
      expect(Math.abs(100 * meanOf(products))).toBeLessThan(0.05 * powerOf(silence))
    }
  })

  it('depends on the position in the segment alone, however the audio is cut', () => {
    const samples = Int16Array.from({ length: 40_000 }, (_none, at) => 1000 * Math.sin(at / 10))
    const whole = withComfortNoise(samples, 0)
    for (const at of [1, 799, 16_383, 16_384, 39_999]) {
      const parts = [withComfortNoise(samples.slice(0, at), 0), withComfortNoise(samples.slice(at), at)]
      expect(parts.flatMap((part) => [...part])).toEqual([...whole])
    }
  })

  it('stays within the range of samples, and leaves those that it is given as they are', () => {
    const loud = Int16Array.from({ length: 2000 }, (_none, at) => (at % 2 === 0 ? 32_767 : -32_768))
    const before = loud.slice()
    const noisy = withComfortNoise(loud, 0)
    expect(loud).toEqual(before)
    expect(noisy.every((sample, at) => sample > 32_600 === (at % 2 === 0))).toBe(true)
  })
})
