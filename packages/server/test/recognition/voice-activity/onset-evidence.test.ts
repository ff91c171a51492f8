import { describe, expect, it } from 'vitest'
import { createVoiceDetector } from '../../../src/recognition/voice-activity/voice-detector.js'
import { amplitude, joined, noiseSource, sine, sound } from '../sounds.js'
import { first } from '../../../../../test/thorough.js'

const rateHz = 8000

/** How many segments' worth of evidence there is: frames of speech without doubt, from the first one on. */
const clearFrames = async (samples: Int16Array): Promise<number> => {
  const detector = await createVoiceDetector({ sampleRateHz: rateHz, sensitivity: 6 })
  let clear = 0
  for (let from = 0; from + 80 <= samples.length; from += 80) {
    if (detector.isSpeech(samples.subarray(from, from + 80)) && !detector.isDoubtful) clear += 1
  }
  detector.free()
  return clear
}

const room = (seconds: number, seed = 7): Int16Array => {
  const next = noiseSource(seed)
  return sound(rateHz, seconds, () => amplitude(-65) * next())
}

/** Noise of wind, whose power falls with the square of its frequency. */
const wind = (seconds: number, seed: number): Int16Array => {
  const next = noiseSource(seed)
  let sum = 0
  return sound(rateHz, seconds, () => {
    sum = 0.995 * sum + next()
    return amplitude(-25) * 0.1 * sum
  })
}

/** A voice with many harmonics, whose level goes up and down. */
const voice = (time: number): number =>
  Array.from({ length: 20 }, (_none, index) => sine(120 * (index + 1), time) / (1 + Math.abs(index - 4))).reduce(
    (sum, part) => sum + amplitude(-28) * (1 + 0.5 * Math.sin(12 * time)) * part,
    0,
  )

describe('evidence of a voice', () => {
  it('is found in a voice within a few frames', async () => {
    expect(await clearFrames(joined(room(2), sound(rateHz, 1, voice)))).toBeGreaterThan(80)
  })

  it('is found in few of many gusts of wind that set in', async () => {
    let opened = 0
    for (let seed = 1; seed <= 20; seed += 1) {
      if ((await clearFrames(joined(room(2, 40 + seed), wind(2, seed)))) >= 6) opened += 1
    }
    // Without the evidence it is most of them.
    expect(opened).toBeLessThanOrEqual(6)
  })

  it('is found in a voice after and above the wind', async () => {
    const windy = wind(4, 11)
    const spoken = windy.map((sample, at) => sample + (at > 2 * rateHz ? 3 * voice(at / rateHz) : 0))
    expect(await clearFrames(joined(room(2), spoken))).toBeGreaterThan(100)
  })

  it('is found in a voice on a line that was silent before', async () => {
    const silence = sound(rateHz, 2, () => 0)
    expect(await clearFrames(joined(silence, sound(rateHz, 1, voice)))).toBeGreaterThan(80)
  })

  it('is found in a voice in a noisy room', async () => {
    const next = noiseSource(12)
    const syllables = (time: number): number => voice(time) * (1 + 0.9 * Math.sin(25 * time))
    const noisy = sound(rateHz, 3, (time) => amplitude(-40) * next() + (time > 2 ? syllables(time) : 0))
    expect(await clearFrames(noisy)).toBeGreaterThan(50)
  })

  it('is found in dark noise in a voice at one level whose pitch falls, 10 dB above it', async () => {
    let opened = 0
    for (let seed = 1; seed <= 20; seed += 1) {
      const next = noiseSource(500 + seed)
      let low = 0
      let cycles = 0
      const noisy = sound(rateHz, 3, (time) => {
        low += 0.3 * (next() - low)
        cycles += (200 - 120 * (time - 2)) / rateHz
        const isSpoken = time > 2 && time < 2.35
        const harmonics = [1, 2, 3, 4, 5, 6, 7, 8].reduce((sum, order) => sum + sine(order * cycles, 1) / order, 0)
        return amplitude(-38) * 2.4 * low + (isSpoken ? amplitude(-27) * harmonics : 0)
      })
      if ((await clearFrames(noisy)) >= 6) opened += 1
    }
    // Without the pitch it is none of 20.
    expect(opened).toBeGreaterThan(10)
  })

  for (const levelDb of first(3, [-50, -40, -30, -45, -35])) {
    it(`is not found in tones of ${levelDb} dBFS in a room`, async () => {
      const next = noiseSource(13)
      for (const pair of [[697, 1209], [770, 1336], [852, 1477], [941, 1633], [400, 450], [440, 480], [425]]) {
        const tones = sound(rateHz, 8, (time) => {
          const isOn = time > 2 && time % 0.7 < 0.3
          const tone = pair.reduce((sum, hz) => sum + sine(hz, time) / Math.sqrt(pair.length), 0)
          return amplitude(-68) * next() + (isOn ? amplitude(levelDb) * tone : 0)
        })
        // Fewer than an onset takes.
        expect(await clearFrames(tones), pair.join(' and ')).toBeLessThan(6)
      }
    })
  }

  it('is not found in air noise that sets in and stops', async () => {
    let opened = 0
    for (let seed = 1; seed <= 20; seed += 1) {
      const next = noiseSource(200 + seed)
      let low = 0
      const air = sound(rateHz, 1, () => {
        low += 0.5 * (next() - low)
        return amplitude(-25) * low
      })
      if ((await clearFrames(joined(room(2, 300 + seed), air, room(1, 400 + seed)))) >= 6) opened += 1
    }
    expect(opened).toBe(0)
  })
})
