import { describe, expect, it } from 'vitest'
import { LevelFilter } from '../../../src/recognition/voice-activity/voice-detector.js'
import { Voicing } from '../../../src/recognition/voice-activity/voicing.js'
import { amplitude, noiseSource, sine, sound } from '../sounds.js'

const rateHz = 8000

/** By frame, whether it is voiced. */
const judge = (samples: Int16Array, candidate = true): readonly boolean[] => {
  const voicing = new Voicing()
  const level = new LevelFilter()
  const hop = rateHz / 100
  return Array.from({ length: Math.floor(samples.length / hop) }, (_, index) => {
    const frame = samples.subarray(index * hop, (index + 1) * hop)
    return voicing.isVoiced(frame, level.levelDb(frame), candidate)
  })
}

/** A voice of this many pulses per second, through a vocal tract with resonances at 700 and 1800 Hz. */
const voice =
  (pitchHz: number) =>
  (time: number): number => {
    const since = time % (1 / pitchHz)
    return amplitude(-14) * Math.exp(-since * 300) * (sine(700, since) + 0.4 * sine(1800, since))
  }

describe('Voicing', () => {
  it('detects voices of 90 to 210 Hz when they grow softer, not at one level', () => {
    for (const pitchHz of [90, 120, 210]) {
      const held = voice(pitchHz)
      const softer = (time: number): number => held(time) * 10 ** (-5 * time)
      expect(judge(sound(rateHz, 0.3, softer))).toContain(true)
      expect(judge(sound(rateHz, 0.3, held))).not.toContain(true)
    }
  })

  it('detects neither noise nor tones nor silence', () => {
    const next = noiseSource(3)
    let soft = 0
    const noises: readonly ((time: number) => number)[] = [
      () => 0,
      () => amplitude(-20) * next(),
      () => (soft = 0.9 * soft + amplitude(-28) * next()),
      (time) => amplitude(-20) * sine(425, time),
      (time) => amplitude(-20) * (sine(350, time) + sine(440, time)),
    ]
    for (const noise of noises) expect(judge(sound(rateHz, 3, noise))).not.toContain(true)
  })

  it('examines candidates only', () => {
    expect(
      judge(
        sound(rateHz, 0.3, (time) => voice(120)(time) * 10 ** (-5 * time)),
        false,
      ),
    ).not.toContain(true)
  })
})
