import { describe, expect, it } from 'vitest'
import { NoiseFloor } from '../../../src/recognition/voice-activity/noise-floor.js'

/** Levels by frame; a second is 100 of them. */
const floorAfter = (levels: readonly (readonly [levelDb: number, frames: number])[], frozen = false): NoiseFloor => {
  const floor = new NoiseFloor()
  for (const [levelDb, frames] of levels) for (let count = 0; count < frames; count += 1) floor.observe(levelDb, frozen)
  return floor
}

/** The levels of speech over `frames`: up and down by 20 dB, four times a second. */
const speechLevels = (frames: number): readonly (readonly [number, number])[] =>
  Array.from({ length: frames }, (_, frame) => [-30 + 10 * Math.sin((frame * 2 * Math.PI) / 25), 1] as const)

describe('the noise floor', () => {
  it('is the first sound', () => {
    expect(floorAfter([[-40, 1]]).levelDb).toBe(-40)
  })

  it('waits for a first sound, but not for long', () => {
    expect(
      floorAfter([
        [-120, 5],
        [-40, 2],
      ]).levelDb,
    ).toBe(-40)
    expect(
      floorAfter([
        [-120, 50],
        [-40, 2],
      ]).levelDb,
    ).toBeCloseTo(-50, 1)
  })

  it('falls fast', () => {
    expect(
      floorAfter([
        [-30, 60],
        [-60, 30],
      ]).levelDb,
    ).toBeLessThan(-57)
  })

  it('never falls below -65 dBFS', () => {
    expect(
      floorAfter([
        [-50, 60],
        [-79, 500],
      ]).levelDb,
    ).toBe(-65)
  })

  it('does not follow digital silence', () => {
    expect(
      floorAfter([
        [-45, 60],
        [-120, 500],
      ]).levelDb,
    ).toBe(-45)
  })

  it('rises by about 1 dB a second when sound goes up and down', () => {
    const { levelDb } = floorAfter([[-60, 100], ...speechLevels(300)])
    expect(levelDb).toBeGreaterThan(-57.5)
    expect(levelDb).toBeLessThan(-56.5)
  })

  it('does not rise while frozen', () => {
    expect(floorAfter([[-60, 100], ...speechLevels(300)], true).levelDb).toBe(-60)
  })

  it('follows sound that stays level for 1.2 s, even while frozen', () => {
    expect(
      floorAfter(
        [
          [-60, 100],
          [-30, 110],
        ],
        true,
      ).levelDb,
    ).toBe(-60)
    expect(
      floorAfter(
        [
          [-60, 100],
          [-30, 130],
        ],
        true,
      ).levelDb,
    ).toBeCloseTo(-30)
  })

  it('resets after speech at the very start', () => {
    expect(
      floorAfter([
        [-15, 10],
        [-30, 2],
      ]).levelDb,
    ).toBe(-50)
  })

  it('resets once for a voice in the first half second', () => {
    const floor = floorAfter([[-25, 10]])
    expect(floor.isUncertain).toBe(true)
    floor.resetBelowVoice(-25)
    expect([floor.levelDb, floor.isUncertain]).toEqual([-50, false])
    expect(floorAfter([[-25, 50]]).isUncertain).toBe(false)
  })

  it('resets to 20 dB below a soft voice, within its lower bound', () => {
    const [soft, softest] = [floorAfter([[-40, 10]]), floorAfter([[-50, 10]])]
    soft.resetBelowVoice(-40)
    softest.resetBelowVoice(-50)
    expect([soft.levelDb, softest.levelDb]).toEqual([-60, -65])
  })

  it('keeps a floor that is already lower', () => {
    const floor = floorAfter([
      [-62, 10],
      [-20, 1],
    ])
    floor.resetBelowVoice(-20)
    expect(floor.levelDb).toBeCloseTo(-62, 1)
  })

  it('is a guess for half a second of background noise, and for two of speech or after digital silence', () => {
    const guesses = (levels: readonly (readonly [number, number])[]): boolean => floorAfter(levels).isGuess
    expect(guesses([[-50, 49]])).toBe(true)
    expect(guesses([[-50, 50]])).toBe(false)
    expect(
      guesses([
        [-15, 10],
        [-30, 40],
      ]),
    ).toBe(true)
    expect(
      guesses([
        [-15, 10],
        [-30, 200],
      ]),
    ).toBe(false)
    expect(
      guesses([
        [-120, 500],
        [-30, 199],
      ]),
    ).toBe(true)
    expect(
      guesses([
        [-120, 500],
        [-30, 200],
      ]),
    ).toBe(false)
  })
})
