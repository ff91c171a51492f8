import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Density, Peaks } from '../src/session/peaks.js'
import { clampView, fit, follow, msAt, ticks, visible, xOf, zoom } from '../src/views/timeline-geometry.js'

describe('the view of the timeline', () => {
  const view = { fromMs: 1000, msPerPx: 10 }

  it('converts positions and pixels both ways', () => {
    expect(xOf(view, 1500)).toBe(50)
    expect(msAt(view, 50)).toBe(1500)
  })

  it('keeps the position below the pointer when it zooms', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 10, noNaN: true }), fc.integer({ min: 0, max: 2000 }), (factor, x) => {
        expect(msAt(zoom(view, factor, x), x)).toBeCloseTo(msAt(view, x), 6)
      }),
    )
  })

  it('shows the newest audio near the right edge, and begins at 0', () => {
    expect(xOf(follow(view, 524, 60_000), 60_000)).toBe(500)
    expect(follow(view, 524, 2000).fromMs).toBe(0)
  })

  it('cannot be dragged away from the session', () => {
    expect(clampView({ ...view, fromMs: -500 }, 524, 60_000).fromMs).toBe(0)
    expect(clampView({ ...view, fromMs: 1e9 }, 524, 60_000).fromMs).toBe(55_000)
  })

  it('shows all of a session', () => {
    const all = fit(1024, 1_800_000)
    expect(xOf(all, 0)).toBe(0)
    expect(xOf(all, 1_800_000)).toBe(1000)
  })

  it('labels round times at least 72 pixels apart', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 5000, noNaN: true }),
        fc.integer({ min: 0, max: 1e6 }),
        (msPerPx, fromMs) => {
          const labels = ticks({ fromMs, msPerPx }, 1200)
          const distances = labels.slice(1).map((ms, index) => (ms - (labels[index] ?? 0)) / msPerPx)
          expect(Math.min(72, ...distances)).toBe(72)
          expect(labels.length).toBeLessThan(18)
        },
      ),
    )
    expect(ticks({ fromMs: 900, msPerPx: 20 }, 200)).toEqual([2000, 4000])
  })

  it('cuts a range at the edges, and leaves out what is not in sight', () => {
    expect(visible(view, 100, { fromMs: 500, toMs: 1200 })).toEqual({ x: 0, width: 20 })
    expect(visible(view, 100, { fromMs: 1500, toMs: Infinity })).toEqual({ x: 50, width: 50 })
    expect(visible(view, 100, { fromMs: 2100, toMs: 2200 })).toBeUndefined()
  })
})

describe('the peaks of audio', () => {
  it('has the extremes of each range, however the audio was cut', () => {
    const samples = Int16Array.from({ length: 16_000 }, (_, at) => Math.round(30_000 * Math.sin(at / 50)))
    const whole = new Peaks(8000)
    whole.add(samples)
    const parts = new Peaks(8000)
    for (let at = 0; at < samples.length; at += 37) parts.add(samples.subarray(at, at + 37))
    for (const [from, to] of [
      [0, 2000],
      [100, 110],
      [505, 1333],
    ] as const) {
      expect(parts.between(from, to)).toEqual(whole.between(from, to))
    }
    expect(whole.between(0, 2000)).toEqual([-118, 117])
    expect(whole.between(2000, 3000)).toBeUndefined()
    expect(whole.loudest).toBe(118)
  })

  it('keeps a click visible and its memory constant when it joins bins', () => {
    const peaks = new Peaks(8000, 64)
    const silence = new Int16Array(8000)
    const click = new Int16Array(8000)
    click[4000] = 32_767
    peaks.add(click)
    for (let second = 0; second < 60; second += 1) peaks.add(silence)
    expect(peaks.durationMs).toBe(61_000)
    expect(peaks.binMs).toBe(1280)
    expect(peaks.between(0, 1280)).toEqual([0, 127])
    expect(peaks.between(5000, 60_000)).toEqual([0, 0])
  })

  it('counts what happens in a tenth of a second', () => {
    const density = new Density()
    density.add(250)
    density.add(1_800_050)
    expect(density.has(200, 300)).toBe(true)
    expect(density.has(300, 1_800_000)).toBe(false)
    expect(density.has(1_800_000, 1_800_100)).toBe(true)
  })
})
