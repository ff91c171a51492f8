import { describe, expect, it } from 'vitest'
import { PitchTrack, type Pitch } from '../../../src/recognition/voice-activity/pitch-track.js'
import { amplitude, noiseSource, sine, sound } from '../sounds.js'

const rateHz = 8000

/** By frame. */
const track = (samples: Int16Array, isLoud = true): readonly Pitch[] => {
  const pitch = new PitchTrack()
  const hop = rateHz / 100
  return Array.from({ length: Math.floor(samples.length / hop) }, (_none, index) =>
    pitch.observe(samples.subarray(index * hop, (index + 1) * hop), isLoud),
  )
}

/** A voice of this many pulses per second, through a vocal tract with resonances at 700 and 1800 Hz. */
const voice =
  (pitchHz: number) =>
  (time: number): number => {
    const since = time % (1 / pitchHz)
    return amplitude(-14) * Math.exp(-since * 300) * (sine(700, since) + 0.4 * sine(1800, since))
  }

/** Noise whose power falls with its frequency. */
const dark = (levelDb: number, seed: number): (() => number) => {
  const next = noiseSource(seed)
  let low = 0
  return () => {
    low += 0.3 * (next() - low)
    return 2.4 * amplitude(levelDb) * low
  }
}

describe('PitchTrack', () => {
  for (const pitchHz of [90, 120, 210]) {
    it(`finds a voice of ${pitchHz} Hz that grows softer, and one that is held`, () => {
      const held = voice(pitchHz)
      const softer = (time: number): number => held(time) * 10 ** (-3 * time)
      expect(track(sound(rateHz, 0.3, softer))).toContain('moving')
      const level = track(sound(rateHz, 0.3, held))
      expect(level).toContain('level')
      expect(level).not.toContain('moving')
    })
  }

  it('finds nothing that moves in tones and digital silence', () => {
    for (const at of [() => 0, (time: number) => amplitude(-20) * sine(425, time)])
      expect(track(sound(rateHz, 3, at))).not.toContain('moving')
  })

  it('finds the pitch of a voice whose level is held and whose pitch falls', () => {
    let phase = 0
    const falling = sound(rateHz, 0.4, (time) => {
      phase += (150 - 100 * time) / rateHz
      return voice(1)((phase % 1) / 150)
    })
    expect(track(falling)).toContain('moving')
  })

  for (const [name, make] of Object.entries({
    'white noise': noiseSource,
    'dark noise': (seed: number) => dark(0, seed),
  })) {
    it(`finds a voice in ${name} 8 dB below it, and no voice in the noise alone`, () => {
      const held = voice(120)
      const speech = (time: number): number => held(time) * (1 + 0.5 * Math.sin(20 * time))
      // The level of the voice is about -23 dBFS.
      const spread = make === noiseSource ? amplitude(-31) : amplitude(-31) / amplitude(0)
      let found = 0
      for (let seed = 1; seed <= 10; seed += 1) {
        const next = make(seed)
        if (track(sound(rateHz, 0.4, (time) => speech(time) + spread * next())).includes('moving')) found += 1
        expect(track(sound(rateHz, 10, () => spread * next()))).not.toContain('moving')
      }
      expect(found).toBe(10)
    })
  }

  it('finds none in frames that are not loud', () => {
    expect(track(sound(rateHz, 0.3, voice(120)), false).every((pitch) => pitch === 'none')).toBe(true)
  })
})
