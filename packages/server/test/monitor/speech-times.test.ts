import { describe, expect, it } from 'vitest'
import { SpeechTimes, type SpeechMark } from '../../src/monitor/session-watch.js'

const mark = (type: SpeechMark['type'], startMs: number, endMs = startMs): SpeechMark => ({ type, startMs, endMs })

describe('SpeechTimes', () => {
  it('reports the delay of the first partial and of the milestone of a segment, once each', () => {
    const times = new SpeechTimes()
    expect(times.mark(mark('speech-started', 1000), 5000)).toBeUndefined()
    expect(times.mark(mark('partial', 1000, 1300), 5400)).toBe(400)
    expect(times.mark(mark('partial', 1000, 1600), 5700)).toBeUndefined()
    expect(times.mark(mark('speech-ended', 1000, 2000), 6000)).toBeUndefined()
    expect(times.mark(mark('milestone', 1000, 2000), 6250)).toBe(250)
    expect(times.mark(mark('milestone', 1000, 2000), 6300)).toBeUndefined()
  })

  it('distinguishes segments by their position in the audio, though the results of the first are late', () => {
    const times = new SpeechTimes()
    times.mark(mark('speech-started', 0), 100)
    times.mark(mark('speech-ended', 0, 1000), 1100)
    times.mark(mark('speech-started', 2000), 2100)
    times.mark(mark('speech-ended', 2000, 3000), 3100)
    expect(times.mark(mark('milestone', 0, 1000), 3500)).toBe(2400)
    expect(times.mark(mark('partial', 2000, 2500), 3600)).toBe(1500)
    expect(times.mark(mark('milestone', 2000, 3000), 3700)).toBe(600)
  })

  it('waits for no partial of a decided segment, and reports nothing if nothing was recognized', () => {
    const times = new SpeechTimes()
    expect(times.mark(mark('partial', 0, 500), 10)).toBeUndefined()
    expect(times.mark(mark('milestone', 0, 500), 10)).toBeUndefined()
    times.mark(mark('speech-started', 0), 100)
    times.mark(mark('milestone', 0, 1000), 200)
    expect(times.mark(mark('partial', 0, 900), 300)).toBeUndefined()
  })

  it('keeps the last 64 segments without results', () => {
    const times = new SpeechTimes()
    for (let at = 1; at <= 100; at += 1) times.mark(mark('speech-ended', 0, at), at)
    // The 36th is the last that was dropped; the 37th is the first that is kept.
    expect(times.mark(mark('milestone', 0, 36), 1000)).toBeUndefined()
    expect(times.mark(mark('milestone', 0, 37), 1000)).toBe(963)
    for (let at = 1; at <= 100; at += 1) times.mark(mark('speech-started', at + 1000), at)
    expect(times.mark(mark('partial', 1036), 1000)).toBeUndefined()
    expect(times.mark(mark('partial', 1037), 1000)).toBe(963)
  })
})
