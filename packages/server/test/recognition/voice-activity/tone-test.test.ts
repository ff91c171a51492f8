import { describe, expect, it } from 'vitest'
import { TelephoneBand } from '../../../src/recognition/voice-activity/telephone-band.js'
import { predict, shareLeftBy, unpredictedShare } from '../../../src/recognition/voice-activity/tone-test.js'
import { amplitude, noiseSource, recording, recordingsMissing, sine, sound, throughUlaw } from '../sounds.js'

const tone =
  (...frequencies: readonly number[]) =>
  (time: number): number =>
    frequencies.reduce((sum, frequency) => sum + amplitude(-20) * sine(frequency, time + 0.0137), 0)

describe('unpredictedShare', () => {
  it('distinguishes one sine and two from noise', () => {
    const next = noiseSource()
    for (const frequencies of [[425], [350, 440], [1400], [50]]) {
      expect(unpredictedShare(sound(8000, 0.01, tone(...frequencies)))).toBeLessThan(0.003)
    }
    expect(unpredictedShare(throughUlaw(sound(8000, 0.01, tone(480, 620))))).toBeLessThan(0.01)
    expect(unpredictedShare(sound(8000, 0.01, () => amplitude(-30) * next()))).toBeGreaterThan(0.1)
  })

  it('is large for many harmonics, and 1 for digital silence', () => {
    expect(unpredictedShare(sound(8000, 0.01, tone(700, 1300, 1900, 2500, 3100)))).toBeGreaterThan(0.01)
    expect(unpredictedShare(new Int16Array(80))).toBe(1)
  })

  it.skipIf(recordingsMissing !== undefined)(`is rarely that of a tone in speech ${recordingsMissing ?? ''}`, () => {
    const samples = recording('four-queen-of-clubs.wav')
    const band = new TelephoneBand(16_000)
    let mistaken = 0
    for (let from = 0; from + 160 <= samples.length; from += 160)
      if (unpredictedShare(band.take(samples.subarray(from, from + 160))) < 0.01) mistaken += 1
    expect(mistaken).toBeLessThan(10)
  })
})

describe('predict', () => {
  it('gives the gain by which a predictor of tones raises the noise of a room', () => {
    const next = noiseSource(4)
    const roomDb = -60
    for (const frequencies of [[697, 1209], [941, 1633], [425]]) {
      let rest = 0
      let gainDb = 0
      const frames = 50
      for (let count = 0; count < frames; count += 1) {
        const frame = sound(8000, 0.01, (time) => tone(...frequencies)(time + count) + amplitude(roomDb) * next())
        const { share, noiseGainDb } = predict(frame)
        rest += (share * frame.reduce((sum, sample) => sum + sample ** 2, 0)) / frame.length / frames
        gainDb += noiseGainDb / frames
      }
      const aboveRoomDb = 10 * Math.log10(rest / 2 ** 30) - roomDb
      expect(aboveRoomDb, frequencies.join(' and ')).toBeGreaterThan(gainDb - 4)
      expect(aboveRoomDb, frequencies.join(' and ')).toBeLessThan(gainDb + 2)
    }
  })

  it('gives the share of the tone test, and no gain for digital silence', () => {
    const frame = sound(8000, 0.01, tone(480, 620))
    expect(predict(frame).share).toBe(unpredictedShare(frame))
    expect(predict(new Int16Array(80))).toMatchObject({ share: 1, noiseGainDb: 0 })
  })
})

describe('shareLeftBy', () => {
  it('is the share of the own predictor, little more for the same tones later, and much more for others', () => {
    const noise = noiseSource(6)
    const second = sound(8000, 1, (time) => tone(480, 620)(time) + amplitude(-50) * noise())
    const { share, coefficients } = predict(second.subarray(0, 80))
    expect(shareLeftBy(coefficients, second.subarray(0, 80))).toBeCloseTo(share, 5)
    expect(shareLeftBy(coefficients, second.subarray(4000, 4080))).toBeLessThan(2 * share)
    expect(shareLeftBy(coefficients, sound(8000, 0.01, tone(1209)))).toBeGreaterThan(20 * share)
    expect(shareLeftBy(coefficients, new Int16Array(80))).toBe(1)
  })
})
