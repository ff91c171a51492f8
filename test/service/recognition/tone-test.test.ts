import { describe, expect, it } from 'vitest'
import { isTone } from '../../../src/service/recognition/tone-test.js'
import { amplitude, noiseSource, recording, recordingsMissing, sine, sound, throughUlaw } from './sounds.js'

const rates = [8000, 16_000, 32_000, 48_000]
const tone =
  (...frequencies: readonly number[]) =>
  (time: number): number =>
    frequencies.reduce((sum, frequency) => sum + amplitude(-20) * sine(frequency, time + 0.0137), 0)

describe('isTone', () => {
  for (const rate of rates) {
    it(`tells one sine and two from noise at ${rate} Hz`, () => {
      const next = noiseSource()
      expect(isTone(sound(rate, 0.01, tone(425)))).toBe(true)
      expect(isTone(sound(rate, 0.01, tone(350, 440)))).toBe(true)
      expect(isTone(sound(rate, 0.01, tone(1400)))).toBe(true)
      expect(isTone(throughUlaw(sound(rate, 0.01, tone(480, 620))))).toBe(true)
      expect(isTone(sound(rate, 0.01, tone(50)))).toBe(true)
      expect(isTone(sound(rate, 0.01, () => amplitude(-30) * next()))).toBe(false)
    })
  }

  it('does not call many harmonics a tone, nor digital silence', () => {
    expect(isTone(sound(8000, 0.01, tone(700, 1300, 1900, 2500, 3100)))).toBe(false)
    expect(isTone(new Int16Array(80))).toBe(false)
  })

  it.skipIf(recordingsMissing !== undefined)(`is rarely mistaken in speech ${recordingsMissing ?? ''}`, () => {
    const samples = recording('four-queen-of-clubs.wav')
    let mistaken = 0
    for (let from = 0; from + 160 <= samples.length; from += 160)
      if (isTone(samples.subarray(from, from + 160))) mistaken += 1
    expect(mistaken).toBeLessThan(10)
  })
})
