import * as fc from 'fast-check'
import { map, VirtualTimeScheduler, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ClockMarks, sampleClock } from '../../../src/operators/metrics/sample-clock.js'
import { Histogram } from '../../../src/operators/metrics/histogram.js'
import { codeThrownBy, marbles } from '../marbles.js'

const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 } as const
const audio = (source$: Observable<string>) => source$.pipe(map((ms) => new Uint8Array(Number(ms) * 8)))

describe('sampleClock', () => {
  it('passes audio and its end on unchanged, and unsubscribes from the source', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions }) => {
      const values = { a: new Uint8Array(160) }
      const count = sampleClock({ format, scheduler }).count()
      for (const drawing of ['-a-a-|', '|', '-', '-a-#'])
        expectObservable(cold(drawing, values).pipe(count)).toBe(drawing, values)
      const source$ = cold('-a-a-', values)
      expectObservable(source$.pipe(count), '--!').toBe('-a', values)
      expectSubscriptions(source$.subscriptions).toBe('^-!')
    })
  })

  it('converts positions to times and times to positions', () => {
    marbles(({ scheduler, cold }) => {
      const clock = sampleClock({ format, scheduler })
      expect([clock.audioMs(), clock.wallMsAt(0), clock.audioMsAt(0)]).toEqual([0, undefined, undefined])
      audio(cold('100ms a 99ms a 99ms a|', { a: '100' }))
        .pipe(clock.count())
        .subscribe()
      scheduler.flush()
      expect(clock.audioMs()).toBe(300)
      expect([0, 50, 100, 150, 300].map(clock.wallMsAt)).toEqual([100, 100, 100, 150, 300])
      expect([clock.wallMsAt(301), clock.wallMsAt(-1)]).toEqual([undefined, undefined])
      expect([99, 100, 250, 300, 999].map(clock.audioMsAt)).toEqual([undefined, 100, 250, 300, 300])
    })
  })

  it('starts again with each subscription', () => {
    marbles(({ scheduler, cold }) => {
      const clock = sampleClock({ format, scheduler })
      const counted$ = audio(cold('a 9ms a|', { a: '10' })).pipe(clock.count())
      counted$.subscribe()
      scheduler.flush()
      counted$.subscribe()
      expect(clock.audioMs()).toBe(0)
    })
  })

  it.each([
    [0, 1000],
    [200, 1000.2],
    [-500, 999.5],
  ])('measures a drift of %i ppm', (ppm, chunkMs) => {
    const scheduler = new VirtualTimeScheduler()
    const clock = sampleClock({ format: { ...format, sampleRateHz: 48_000 }, scheduler })
    const bytes = new Uint8Array(Math.round(chunkMs * 48))
    const seconds = 120
    marbles(({ cold }) => {
      const source$ = cold(`${'a'.repeat(seconds)}|`).pipe(
        map(() => {
          scheduler.frame += 1000
          return bytes
        }),
      )
      source$.pipe(clock.count()).subscribe()
    })
    expect(clock.driftPpm()).toBeCloseTo(((bytes.length / 48 - 1000) / 1000) * 1e6, 3)
    expect(Math.abs((clock.driftPpm() ?? Infinity) - ppm)).toBeLessThan(15)
  })

  it('knows no drift within the first second', () => {
    marbles(({ scheduler, cold }) => {
      const clock = sampleClock({ format, scheduler })
      audio(cold('a 499ms a 498ms a', { a: '500' }))
        .pipe(clock.count())
        .subscribe()
      scheduler.flush()
      expect(clock.driftPpm()).toBeUndefined()
    })
  })

  it('rejects an invalid format, and marks out of bounds', () => {
    expect(codeThrownBy(() => sampleClock({ format: { ...format, sampleRateHz: 1 } }))).toBe('invalid-format')
    expect(codeThrownBy(() => sampleClock({ format, maxMarks: 8 }))).toBe('invalid-options')
  })
})

describe('ClockMarks', () => {
  it('finds any time of a long session with few marks, and the last ones exactly', () => {
    const marks = new ClockMarks(64)
    const hours = 4 * 3600 * 50
    // Audio that runs 1 % slow.
    for (let chunk = 1; chunk <= hours; chunk += 1) marks.add({ audioMs: chunk * 20, wallMs: chunk * 20 * 1.01 })
    for (const audioMs of [20, 1000, 3_600_000, 7_200_010, hours * 20 - 5]) {
      expect(marks.wallMsAt(audioMs)).toBeCloseTo(audioMs * 1.01, 3)
      expect(marks.audioMsAt(audioMs * 1.01)).toBeCloseTo(audioMs, 3)
    }
  })

  it('increases whatever the clock does', () => {
    const step = fc.record({ audio: fc.integer({ min: 0, max: 50 }), wall: fc.integer({ min: -100, max: 200 }) })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 200 }), (steps) => {
        const marks = new ClockMarks(16)
        let [audioMs, wallMs] = [0, 10_000]
        for (const { audio: more, wall } of steps) marks.add({ audioMs: (audioMs += more), wallMs: (wallMs += wall) })
        const times = Array.from({ length: 20 }, (_, at) => marks.wallMsAt((audioMs * (at + 1)) / 20))
        const known = times.filter((label) => label !== undefined)
        expect(known).toEqual(known.toSorted((a, b) => a - b))
        expect(times.at(-1)).toBeDefined()
      }),
    )
  })
})

describe('Histogram', () => {
  it('returns median and 95th percentile to within 2.5 %, the extremes exactly', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 20, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 300 }),
        (values) => {
          const histogram = new Histogram()
          for (const value of values) histogram.add(value)
          const sorted = values.toSorted((a, b) => a - b)
          const rank = (part: number): number => sorted[Math.ceil(part * sorted.length) - 1] ?? NaN
          const distribution = histogram.distribution()
          expect(distribution).toMatchObject({ count: values.length, minMs: sorted[0], maxMs: sorted.at(-1) })
          expect(Math.abs((distribution?.medianMs ?? 0) / rank(0.5) - 1)).toBeLessThan(0.03)
          expect(Math.abs((distribution?.p95Ms ?? 0) / rank(0.95) - 1)).toBeLessThan(0.03)
        },
      ),
    )
    expect(new Histogram().distribution()).toBeUndefined()
  })
})
