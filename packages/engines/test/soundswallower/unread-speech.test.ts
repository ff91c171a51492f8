import { describe, expect, it } from 'vitest'
import { unreadFrames } from '../../src/soundswallower/unread-speech.js'

/** Samples of 8 kHz with tones of an amplitude from one time to another, above soft noise. */
const audio = (lengthMs: number, ...tones: readonly (readonly [number, number, number])[]): Float32Array => {
  const samples = Float32Array.from({ length: lengthMs * 8 }, (_none, at) => 0.0005 * Math.sin(at * at))
  for (const [startMs, endMs, amplitude] of tones) {
    for (let at = startMs * 8; at < endMs * 8; at += 1) samples[at] = amplitude * Math.sin(at)
  }
  return samples
}

const word = (text: string, startMs: number, endMs: number) => ({ text, startMs, endMs, posterior: 0.9 })
const ten = word('ten', 500, 1000)
const spoken = [500, 1000, 0.3] as const

describe('the frames that sound like speech and belong to no word', () => {
  it('are none if all speech is read, and those of speech before and after the words', () => {
    expect(unreadFrames([ten], audio(2000, spoken))).toBe(0)
    expect(unreadFrames([ten], audio(2000, spoken, [1200, 1700, 0.3]))).toBe(50)
    expect(unreadFrames([ten], audio(2000, [100, 400, 0.2], spoken))).toBe(30)
  })

  it('leave out what is within 50 ms of a word, whose times are not exact', () => {
    expect(unreadFrames([ten], audio(2000, [450, 1050, 0.3]))).toBe(0)
    expect(unreadFrames([ten], audio(2000, [400, 1100, 0.3]))).toBe(10)
  })

  it('leave out sounds shorter than 40 ms, such as clicks', () => {
    expect(unreadFrames([ten], audio(2000, spoken, [1500, 1530, 0.3]))).toBe(0)
    expect(unreadFrames([ten], audio(2000, spoken, [1500, 1540, 0.3]))).toBe(4)
  })

  it('leave out sounds 15 dB softer than the words, and noise of the line', () => {
    expect(unreadFrames([ten], audio(2000, spoken, [1200, 1700, 0.05]))).toBe(0)
    expect(unreadFrames([ten], audio(2000, spoken, [1200, 1700, 0.06]))).toBe(50)
    expect(unreadFrames([ten], audio(2000, [0, 2000, 0.15], spoken))).toBe(0)
    expect(unreadFrames([ten], audio(2000, [0, 2000, 0.15], spoken, [1200, 1700, 0.3]))).toBe(0)
    expect(unreadFrames([ten], audio(2000, [0, 2000, 0.1], spoken, [1200, 1700, 0.3]))).toBe(50)
  })

  it('are 0 without audio, and without words', () => {
    expect(unreadFrames([ten], new Float32Array())).toBe(0)
    expect(unreadFrames([], audio(2000))).toBe(0)
    expect(unreadFrames([], new Float32Array(8000))).toBe(0)
  })

  it('do not depend on the level', () => {
    const samples = audio(2000, spoken, [1200, 1700, 0.2])
    const soft = samples.map((sample) => sample / 64)
    expect(unreadFrames([ten], soft)).toBe(unreadFrames([ten], samples))
  })

  it('do not depend on a constant offset of the samples', () => {
    const samples = audio(2000, spoken, [1200, 1700, 0.3])
    expect(
      unreadFrames(
        [ten],
        samples.map((sample) => sample + 0.2),
      ),
    ).toBe(50)
  })
})
