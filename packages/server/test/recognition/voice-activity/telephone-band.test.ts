import { describe, expect, it } from 'vitest'
import { TelephoneBand } from '../../../src/recognition/voice-activity/telephone-band.js'
import { amplitude, sine, sound } from '../sounds.js'

const rates = [16_000, 32_000, 48_000]

/** The level of a sound in the band, in dB above what it was. */
const gainDb = (rateHz: number, frequencyHz: number): number => {
  const band = new TelephoneBand(rateHz)
  const samples = sound(rateHz, 0.2, (time) => amplitude(-20) * sine(frequencyHz, time))
  const hop = rateHz / 100
  let power = 0
  let count = 0
  for (let from = 0; from < samples.length; from += hop) {
    const frame = band.take(samples.subarray(from, from + hop))
    // The first frame begins within the filter.
    if (from === 0) continue
    for (const sample of frame) power += sample ** 2
    count += frame.length
  }
  return 10 * Math.log10(power / count / (amplitude(-20) ** 2 / 2) + 1e-9)
}

describe('TelephoneBand', () => {
  it('keeps what a telephone carries, and nothing of the rest', () => {
    for (const rate of rates) {
      for (const frequency of [300, 1000, 3000]) expect(Math.abs(gainDb(rate, frequency))).toBeLessThan(0.5)
      for (const frequency of [4900, 6000, 7700]) expect(gainDb(rate, frequency)).toBeLessThan(-40)
    }
  })

  it('stays within 16 bits', () => {
    const band = new TelephoneBand(16_000)
    const loud = sound(16_000, 0.05, (time) => (sine(700, time) > 0 ? 32_767 : -32_768))
    for (let from = 0; from < loud.length; from += 160) {
      const frame = [...band.take(loud.subarray(from, from + 160))]
      expect(Math.max(...frame.map((sample, at) => Math.abs(sample - (frame[at - 1] ?? sample))))).toBeLessThan(65_000)
    }
  })
})
