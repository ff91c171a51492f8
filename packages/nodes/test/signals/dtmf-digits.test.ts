import { describe, expect, it } from 'vitest'
import { DtmfDetector, type DtmfDigit } from '../../src/signals/dtmf-digits.js'
import {
  halved,
  noiseSource,
  recording,
  recordingsMissing,
  throughUlaw,
} from '../../../server/test/recognition/sounds.js'
import { amplitudeAt, pressed, type Press } from './dtmf-tones.js'

const detect = (samples: Int16Array, rateHz = 8000, pieces: () => number = () => 160): readonly DtmfDigit[] => {
  const detector = new DtmfDetector(rateHz)
  const found: DtmfDigit[] = []
  for (let from = 0; from < samples.length;) {
    const length = pieces()
    found.push(...detector.take(samples.subarray(from, from + length)))
    from += length
  }
  return [...found, ...detector.end()]
}
const digitsIn = (...given: Parameters<typeof detect>): string =>
  detect(...given)
    .map(({ digit }) => digit)
    .join('')
const all = '123A456B789C*0#D'
const each = (press: Omit<Press, 'digit'>): readonly Press[] => Array.from(all, (digit) => ({ ...press, digit }))
/** Every digit, at sixteen offsets of the first tone relative to the analysis steps. */
const everyPlace = (press: Omit<Press, 'digit'>): readonly string[] =>
  Array.from({ length: 16 }, (_none, place) => digitsIn(pressed(8000, each(press), 50 + place * 0.6)))

describe('DtmfDetector detects', () => {
  it.each([8000, 11_025, 16_000, 22_050, 44_100, 48_000])('every digit at %i Hz', (rateHz) => {
    expect(digitsIn(pressed(rateHz, each({})), rateHz)).toBe(all)
  })

  it('tones of 40 ms with pauses of 40 ms, at any offset', () => {
    for (const digits of everyPlace({ toneMs: 40, pauseMs: 40 })) expect(digits).toBe(all)
  })

  it('frequencies that are 1.5 % off, either way, each and both', () => {
    for (const [lowError, highError] of [
      [0.015, 0.015],
      [-0.015, -0.015],
      [0.015, -0.015],
      [-0.015, 0],
      [0, 0.015],
    ]) {
      for (const digits of everyPlace({ lowError: lowError ?? 0, highError: highError ?? 0, toneMs: 45 })) {
        expect(digits).toBe(all)
      }
    }
  })

  it('a high tone 4 dB above the low one, and 8 dB below it', () => {
    for (const twistDb of [4, -8]) for (const digits of everyPlace({ twistDb, toneMs: 45 })) expect(digits).toBe(all)
  })

  it('levels from 0 to -25 dBm0 for each tone, through µ-law too', () => {
    for (const levelDbm0 of [-1, -10, -25]) {
      const samples = pressed(8000, each({ levelDbm0, toneMs: 45 }))
      expect(digitsIn(samples)).toBe(all)
      expect(digitsIn(throughUlaw(samples))).toBe(all)
    }
  })

  it('tones over noise 15 dB below them', () => {
    const noise = noiseSource(7)
    const spread = (amplitudeAt(-10) / Math.SQRT2) * Math.SQRT2 * 10 ** (-15 / 20)
    const noisy = pressed(8000, each({ toneMs: 50 })).map((sample) => sample + spread * noise())
    expect(digitsIn(noisy)).toBe(all)
  })

  it('a digit interrupted for 10 ms as one, and the same digit after 40 ms as another', () => {
    expect(
      digitsIn(
        pressed(8000, [
          { digit: '5', toneMs: 40, pauseMs: 10 },
          { digit: '5', toneMs: 40 },
        ]),
      ),
    ).toBe('5')
    expect(
      digitsIn(
        pressed(8000, [
          { digit: '5', toneMs: 40, pauseMs: 40 },
          { digit: '5', toneMs: 40 },
        ]),
      ),
    ).toBe('55')
  })

  it('digits that follow each other without a pause', () => {
    expect(
      digitsIn(
        pressed(
          8000,
          Array.from('15948#', (digit) => ({ digit, toneMs: 80, pauseMs: 0 })),
        ),
      ),
    ).toBe('15948#')
  })

  it('the begin and the end of each to within 5 ms', () => {
    for (const toneMs of [40, 63, 100, 1234]) {
      const [digit] = detect(pressed(8000, [{ digit: '8', toneMs }], 101))
      expect(Math.abs((digit?.startSample ?? 0) / 8 - 101)).toBeLessThan(5)
      expect(Math.abs((digit?.endSample ?? 0) / 8 - 101 - toneMs)).toBeLessThan(5)
    }
  })

  it('the same digits from chunks of any length', () => {
    const samples = pressed(8000, each({ toneMs: 44, pauseMs: 41 }))
    const whole = detect(samples, 8000, () => samples.length)
    let seed = 1
    const odd = (): number => 1 + ((seed = (seed * 48_271) % 2_147_483_647) % 700)
    expect(whole).toHaveLength(16)
    for (const pieces of [() => 1, () => 19, () => 161, odd]) expect(detect(samples, 8000, pieces)).toEqual(whole)
  })

  it('a tone that is cut by the end of the audio', () => {
    const samples = pressed(8000, [{ digit: '9', toneMs: 70 }])
    expect(digitsIn(samples.subarray(0, Math.round(8 * 100)))).toBe('9')
  })
})

describe('DtmfDetector rejects', () => {
  it('tones of less than 23 ms, at any offset', () => {
    for (const digits of everyPlace({ toneMs: 22.9, pauseMs: 60 })) expect(digits).toBe('')
  })

  it('frequencies that are 3.5 % off, either way, in either group', () => {
    for (const error of [0.035, -0.035]) {
      for (const digits of everyPlace({ lowError: error, toneMs: 100 })) expect(digits).toBe('')
      for (const digits of everyPlace({ highError: error, toneMs: 100 })) expect(digits).toBe('')
    }
  })

  it('a twist far beyond the limits, and a single tone', () => {
    for (const twistDb of [8, -12, 60, -60]) expect(digitsIn(pressed(8000, each({ twistDb })))).toBe('')
  })

  it('tones that are too weak', () => {
    expect(digitsIn(pressed(8000, each({ levelDbm0: -40 })))).toBe('')
  })

  it('tones with another sound of the same level', () => {
    const samples = pressed(8000, each({ toneMs: 100 }))
    const third = amplitudeAt(-10)
    const disturbed = samples.map(
      (sample, index) => sample + 1.2 * third * Math.sin((2 * Math.PI * 430 * index) / 8000),
    )
    expect(digitsIn(disturbed)).toBe('')
  })

  it('two minutes of noise, white and through µ-law', () => {
    const noise = noiseSource(3)
    const samples = Int16Array.from({ length: 8000 * 120 }, () => 3000 * noise())
    expect(digitsIn(samples)).toBe('')
    expect(digitsIn(throughUlaw(samples))).toBe('')
  })

  it('dial tone, ringback and busy of several countries', () => {
    for (const pair of [
      [350, 440],
      [440, 480],
      [480, 620],
      [425, 425],
      [400, 450],
      [1400, 2060],
    ]) {
      const samples = Int16Array.from({ length: 8000 }, (_none, index) =>
        pair.reduce((sum, hz) => sum + 6000 * Math.sin((2 * Math.PI * hz * index) / 8000), 0),
      )
      expect(digitsIn(samples)).toBe('')
    }
  })

  it.skipIf(recordingsMissing)('human speech at both rates, slow and fast', () => {
    const names = ['ten-of-clubs.wav', 'four-queen-of-clubs.wav', 'seven-of-clubs.wav', 'go-forward-ten-meters.16k.raw']
    for (const name of [...names, 'librivox-0870.wav', 'librivox-0880.wav']) {
      const speech = recording(name)
      const half = halved(speech)
      expect(digitsIn(speech, 16_000)).toBe('')
      for (const rateHz of [6500, 8000, 9500, 11_025]) expect(digitsIn(half, Math.max(8000, rateHz))).toBe('')
      expect(digitsIn(throughUlaw(half))).toBe('')
      expect(digitsIn(half.map((sample) => Math.max(-32_768, Math.min(32_767, 4 * sample))))).toBe('')
    }
  })
})
