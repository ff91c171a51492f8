import { describe, expect, it } from 'vitest'
import { SpectrumChange } from '../../../src/recognition/voice-activity/spectrum-change.js'
import { predict } from '../../../src/recognition/voice-activity/tone-test.js'
import { amplitude, noiseSource, sine, sound } from '../sounds.js'

/** The changes of the frames in dB, from the first one that is known. */
const changesOf = (samples: Int16Array): readonly number[] => {
  const change = new SpectrumChange()
  const changes: number[] = []
  for (let from = 0; from + 80 <= samples.length; from += 80) {
    const frame = samples.subarray(from, from + 80)
    change.observe(frame, predict(frame))
    changes.push(change.meanDb)
  }
  return changes.slice(8)
}

const room = (): (() => number) => {
  const next = noiseSource(3)
  return () => amplitude(-66) * next()
}

describe('SpectrumChange', () => {
  it('is less than a decibel for noise of any color', () => {
    const next = noiseSource(4)
    let low = 0
    const noises = [next, () => (low += 0.3 * (next() - low)), () => (low = 0.9 * low + next())]
    for (const noise of noises) {
      const changes = changesOf(sound(8000, 20, () => amplitude(-40) * noise()))
      expect(Math.max(...changes)).toBeLessThan(1)
    }
  })

  for (const pair of [[425], [400, 450], [480, 620], [697, 1209]]) {
    it(`is less than a decibel for soft tones of ${pair.join(' and ')} Hz in a room`, () => {
      const noise = room()
      const tones = sound(
        8000,
        20,
        (time) => noise() + pair.reduce((sum, hz) => sum + amplitude(-46) * sine(hz, time), 0),
      )
      expect(Math.max(...changesOf(tones))).toBeLessThan(1)
    })
  }

  it('is more than a decibel for a soft voice whose mouth opens', () => {
    const noise = room()
    const opening = sound(8000, 0.3, (time) => {
      const since = time % (1 / 120)
      return noise() + amplitude(-32) * Math.exp(-since * 300) * sine(300 + 4000 * time, since)
    })
    expect(Math.max(...changesOf(opening))).toBeGreaterThan(1.5)
  })

  it('is unknown, so 0, after a reset', () => {
    const change = new SpectrumChange()
    const next = noiseSource(5)
    const frame = sound(8000, 0.01, () => amplitude(-30) * next())
    for (let count = 0; count < 20; count += 1) change.observe(frame, predict(frame))
    const other = sound(8000, 0.01, (time) => amplitude(-30) * sine(1000, time))
    for (let count = 0; count < 4; count += 1) change.observe(other, predict(other))
    expect(change.meanDb).toBeGreaterThan(1)
    change.reset()
    expect(change.meanDb).toBe(0)
  })
})
