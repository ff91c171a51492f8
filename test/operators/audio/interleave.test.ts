import * as fc from 'fast-check'
import { concat, interval, map, NEVER, of, reduce, Subject, take, throwError, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Encoding } from '../../../src/audio/format.js'
import { interleave, type InterleaveOptions, type SkewReport } from '../../../src/operators/audio/interleave.js'
import { codeThrownBy, marbles } from '../marbles.js'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** One sample is an eighth of a millisecond and one byte of µ-law, so that frames are readable; silence is 255. */
const format = { encoding: 'ulaw', sampleRateHz: 8000 } as const
/** The bound: two samples. */
const options: InterleaveOptions = { format, maxSkewMs: 0.25 }

const values = {
  a: bytes(1, 2),
  b: bytes(3, 4),
  m: bytes(11, 12),
  n: bytes(13, 14),
  p: bytes(1, 11, 2, 12),
  q: bytes(3, 13, 4, 14),
  // Silence for the side that is late.
  r: bytes(1, 255, 2, 255),
  s: bytes(3, 255, 4, 255),
  t: bytes(255, 11, 255, 12),
}

/** A side that emits like a microphone. */
function live(everyMs: number, count: number): Observable<Uint8Array> {
  return interval(everyMs).pipe(
    take(count),
    map(() => new Uint8Array(8 * everyMs)),
  )
}

/** Subscribes, and returns the output and the skew reports in samples. */
const collect = (
  join: (onSkew: (account: SkewReport) => void) => Observable<Uint8Array>,
): { frames: number[]; accounts: string[]; end: unknown } => {
  const seen = { frames: [] as number[], accounts: [] as string[], end: undefined as unknown }
  const onSkew = ({ type, channel, fromMs, toMs }: SkewReport): void => {
    seen.accounts.push(`${type} ${channel} ${fromMs * 8}-${toMs * 8}`)
  }
  join(onSkew).subscribe({
    next: (frames) => seen.frames.push(...frames),
    error: (error: unknown) => (seen.end = error),
    complete: () => (seen.end = 'complete'),
  })
  return seen
}

describe('interleave', () => {
  it('emits frames as soon as both sides have their samples', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const left$ = cold('    -a---b---|', values)
      const right$ = cold('   --m-n---| ', values)
      const subscription = '  ^--------!'
      const other = '         ^-------! '
      const expected = '      --p--q---|'
      expectObservable(interleave(left$, right$, options)).toBe(expected, values)
      expectSubscriptions(left$.subscriptions).toBe(subscription)
      expectSubscriptions(right$.subscriptions).toBe(other)
    })
  })

  it('inserts silence for a side that is late by more than the skew', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const left$ = cold('    -a-b-a-', values)
      const right$ = cold('   -------', values)
      const subscription = '  ^------'
      const expected = '      ---r-s-'
      expectObservable(interleave(left$, right$, options)).toBe(expected, values)
      expectSubscriptions(left$.subscriptions).toBe(subscription)
      expectSubscriptions(right$.subscriptions).toBe(subscription)
    })
  })

  it('inserts silence for a completed side immediately, until the other completes', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const left$ = cold('    --|      ', values)
      const right$ = cold('   -m--m--| ', values)
      const subscription = '  ^-!      '
      const other = '         ^------! '
      const expected = '      --t-t--| '
      expectObservable(interleave(left$, right$, options)).toBe(expected, values)
      expectSubscriptions(left$.subscriptions).toBe(subscription)
      expectSubscriptions(right$.subscriptions).toBe(other)
    })
  })

  it('completes empty when both sides are empty', () => {
    marbles(({ cold, expectObservable }) => {
      const left$ = cold<Uint8Array>('  -|  ')
      const right$ = cold<Uint8Array>(' ---|')
      const expected = '                ---|'
      expectObservable(interleave(left$, right$, options)).toBe(expected)
    })
  })

  it('emits nothing while both sides emit nothing', () => {
    marbles(({ expectObservable }) => {
      expectObservable(interleave(NEVER, NEVER, options)).toBe('-')
    })
  })

  it('emits what both sides have before an error of one, and unsubscribes from the other', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const left$ = cold('    -a-#     ', values)
      const right$ = cold('   ------m-|', values)
      const subscription = '  ^--!     '
      const expected = '      ---(r#)  '
      expectObservable(interleave(left$, right$, options)).toBe(expected, values)
      expectSubscriptions(left$.subscriptions).toBe(subscription)
      expectSubscriptions(right$.subscriptions).toBe(subscription)
    })
  })

  it('unsubscribes from both sides early, and starts again with a new subscription', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const left$ = cold('    -a---|          ', values)
      const right$ = cold('   --m--|          ', values)
      const early = '         ^!              '
      const again = '         -------^        '
      const subscriptions = ['^!              ', '-------^----!']
      const expected = ['     -               ', '---------p--|'] as const
      const result$ = interleave(left$, right$, options)
      expectObservable(result$, early).toBe(expected[0], values)
      expectObservable(result$, again).toBe(expected[1], values)
      expectSubscriptions(left$.subscriptions).toBe(subscriptions)
      expectSubscriptions(right$.subscriptions).toBe(subscriptions)
    })
  })

  it('keeps the order when a subscriber feeds a side while it receives frames', () => {
    const [left$, right$] = [new Subject<Uint8Array>(), new Subject<Uint8Array>()]
    const seen: number[] = []
    interleave(left$, right$, options).subscribe((frames) => {
      seen.push(...frames)
      if (seen.length === 4) left$.next(bytes(3, 4))
    })
    right$.next(values.m)
    left$.next(values.a)
    right$.next(values.n)
    expect(seen).toEqual([1, 11, 2, 12, 3, 13, 4, 14])
  })

  it('drops audio that arrives after its place was filled with silence, and reports both to the sample', () => {
    const [left$, right$] = [new Subject<Uint8Array>(), new Subject<Uint8Array>()]
    const seen = collect((onSkew) => interleave(left$, right$, { ...options, onSkew }))
    left$.next(bytes(1, 2, 3, 4, 5))
    expect(seen).toMatchObject({ frames: [1, 255, 2, 255, 3, 255], accounts: ['filled 1 0-3'] })
    right$.next(bytes(11, 12))
    right$.next(bytes(13, 14, 15))
    expect(seen.accounts).toEqual(['filled 1 0-3', 'dropped 1 0-2', 'dropped 1 2-3'])
    expect(seen.frames.slice(6)).toEqual([4, 14, 5, 15])
  })

  it('shifts audio that arrives after its place was filled with silence, if configured', () => {
    const [left$, right$] = [new Subject<Uint8Array>(), new Subject<Uint8Array>()]
    const seen = collect((onSkew) => interleave(left$, right$, { ...options, late: 'shift', onSkew }))
    left$.next(bytes(1, 2, 3))
    right$.next(bytes(11, 12))
    expect(seen).toMatchObject({ frames: [1, 255, 2, 11, 3, 12], accounts: ['filled 1 0-1'] })
  })

  it.each([
    ['pcm', [1, 2, 0, 0]],
    ['ulaw', [1, 255, 2, 255]],
    ['alaw', [1, 0xd5, 2, 0xd5]],
  ] as const)('inserts the silence of %s', (encoding: Encoding, frames) => {
    const left$ = concat(of(bytes(1, 2)), NEVER)
    const seen = collect(() => interleave(left$, NEVER, { format: { ...format, encoding }, maxSkewMs: 0 }))
    expect(seen.frames).toEqual(frames)
  })

  it('ends with cut-sample after all frames when a side ended within a sample', () => {
    const pcm = { encoding: 'pcm', sampleRateHz: 8000 } as const
    const seen = collect(() => interleave(of(bytes(1, 2, 3)), of(bytes(5, 6, 7, 8)), { format: pcm }))
    expect(seen).toMatchObject({ frames: [1, 2, 5, 6, 0, 0, 7, 8], end: { code: 'cut-sample' } })
  })

  it('reports the inserted silence before an error', () => {
    const broken$ = concat(
      of(values.a),
      throwError(() => new Error('broken')),
    )
    const seen = collect((onSkew) => interleave(broken$, NEVER, { ...options, onSkew }))
    expect(seen).toEqual({ frames: [1, 255, 2, 255], accounts: ['filled 1 0-2'], end: new Error('broken') })
  })

  it('inserts no silence for two live sides, however they are sliced', () => {
    marbles(({ expectObservable }) => {
      const accounts: SkewReport[] = []
      const result$ = interleave(live(20, 500), live(50, 200), {
        format,
        maxSkewMs: 50,
        onSkew: (report) => accounts.push(report),
      })
      const summary$ = result$.pipe(
        reduce((sum, frames) => sum + frames.length, 0),
        map((sum) => ({ sum, accounts })),
      )
      expectObservable(summary$).toBe('10s (t|)', { t: { sum: 160_000, accounts: [] } })
    })
  })

  it('reports every lost sample, at any timing', () => {
    const piece = fc.tuple(fc.constantFrom<0 | 1>(0, 1), fc.integer({ min: 0, max: 9 }))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 0, max: 6 }), (script, maxSkew) => {
        const sides = [new Subject<Uint8Array>(), new Subject<Uint8Array>()] as const
        const sent: [number, number] = [0, 0]
        const accounts: SkewReport[] = []
        const frames: number[] = []
        interleave(...sides, { format, maxSkewMs: maxSkew / 8, onSkew: (report) => accounts.push(report) }).subscribe(
          (slice) => frames.push(...slice),
        )
        for (const [channel, count] of script) {
          // Sample n of a side is n, so that its position can be checked.
          sides[channel].next(Uint8Array.from({ length: count }, (_, i) => (sent[channel] + i) % 200))
          sent[channel] += count
          const length = frames.length / 2
          expect(Math.max(...sent) - length).toBeLessThanOrEqual(maxSkew)
        }
        for (const side$ of sides) side$.complete()
        for (const channel of [0, 1] as const) {
          const track = frames.filter((_, i) => i % 2 === channel)
          const total = (type: SkewReport['type']): number =>
            accounts
              .filter((report) => report.type === type && report.channel === channel)
              .reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs) * 8, 0)
          expect(track.length).toBe(Math.max(...sent))
          expect(track.every((sample, at) => sample === at % 200 || sample === 255)).toBe(true)
          expect(track.filter((sample) => sample === 255).length).toBe(total('filled'))
          expect(track.length - total('filled')).toBe(sent[channel] - total('dropped'))
        }
      }),
    )
  })

  it('rejects invalid options immediately', () => {
    expect(codeThrownBy(() => interleave(NEVER, NEVER, { ...options, maxSkewMs: -1 }))).toBe('invalid-options')
    expect(codeThrownBy(() => interleave(NEVER, NEVER, { ...options, maxSkewMs: NaN }))).toBe('invalid-options')
    expect(codeThrownBy(() => interleave(NEVER, NEVER, { ...options, late: 'keep' as 'drop' }))).toBe('invalid-options')
    const noFormat = { ...format, sampleRateHz: 1 }
    expect(codeThrownBy(() => interleave(NEVER, NEVER, { format: noFormat }))).toBe('invalid-format')
  })
})
