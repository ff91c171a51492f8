import * as fc from 'fast-check'
import { concat, EMPTY, from, map, of, range, Subject, take, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../src/audio/format.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { chunk } from '../../../src/operators/audio/chunk.js'
import { codeThrownBy, marbles } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** A chunk of half a millisecond is 4 samples: 8 bytes of PCM. */
const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const everyMs = 0.5

const values = {
  a: bytes(1, 2, 3, 4, 5),
  b: bytes(6, 7, 8, 9, 10),
  c: bytes(11, 12, 13, 14, 15, 16),
  w: bytes(1, 2, 3, 4, 5, 6, 7, 8),
  x: bytes(9, 10, 11, 12, 13, 14, 15, 16),
  y: bytes(9, 10),
  z: bytes(1, 2, 3, 4),
}

const cut = (byteCount: number, frameBytes: number): SpeechError =>
  new SpeechError(
    'cut-sample',
    `The audio ended within a sample: only ${byteCount} of its last ${frameBytes} bytes arrived.`,
  )

describe('chunk', () => {
  // Chunks have equal length, however the source is sliced.
  itIsAnOperator({
    operator: () => chunk({ format, everyMs }),
    values,
    outputs: values,
    source: '  -a-b-c-|',
    expected: '---w-x-|',
    failed: '  ---(z#)',
  })

  it('emits a shorter last chunk when the source completes', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a-b-------|      ', values)
      const subscription = '  ^----------!      '
      const expected = '      ---w-------(y|)   '
      expectObservable(source$.pipe(chunk({ format, everyMs }))).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('completes empty when the source is empty or holds empty slices only', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -e-e-|', { e: bytes() })
      const subscription = '  ^----!'
      const expected = '      -----|'
      expectObservable(source$.pipe(chunk({ format, everyMs }))).toBe(expected)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
      expectObservable(EMPTY.pipe(chunk({ format }))).toBe('|')
    })
  })

  it('ends with cut-sample and the bytes when the source completes within a sample', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a-|      ', values)
      const subscription = '  ^--!      '
      const expected = '      ---(z#)   '
      expectObservable(source$.pipe(chunk({ format, everyMs }))).toBe(expected, values, cut(1, 2))
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('unsubscribes from the source early', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold('  -a-b-c-|', values)
      const subscription = '  ^---!   '
      const expected = '      ---w-   '
      expectObservable(source$.pipe(chunk({ format, everyMs })), subscription).toBe(expected, values)
      expectSubscriptions(source$.subscriptions).toBe(subscription)
    })
  })

  it('keeps the order when a subscriber feeds the source while it receives a chunk', () => {
    const source$ = new Subject<Uint8Array>()
    const seen: number[][] = []
    source$.pipe(chunk({ format, everyMs })).subscribe((value) => {
      seen.push([...value])
      if (seen.length === 1) source$.next(Uint8Array.from({ length: 8 }, (_, i) => i + 17))
    })
    source$.next(Uint8Array.from({ length: 16 }, (_, i) => i + 1))
    expect(seen.flat()).toEqual(Array.from({ length: 24 }, (_, i) => i + 1))
    expect(seen.map((value) => value.length)).toEqual([8, 8, 8])
  })

  it('emits everything before the end when the source ends while a chunk is emitted', () => {
    const run = (end: (source$: Subject<Uint8Array>) => void): unknown[] => {
      const source$ = new Subject<Uint8Array>()
      const seen: unknown[] = []
      source$.pipe(chunk({ format, everyMs })).subscribe({
        next: (value) => {
          seen.push([...value])
          if (seen.length === 1) end(source$)
        },
        error: (error: unknown) => seen.push(error),
        complete: () => seen.push('complete'),
      })
      source$.next(Uint8Array.from({ length: 18 }, (_, i) => i + 1))
      return seen
    }
    const chunks = [[...values.w], [...values.x], [17, 18]]
    expect(run((source$) => source$.complete())).toEqual([...chunks, 'complete'])
    expect(run((source$) => source$.error(new Error('broken')))).toEqual([...chunks, new Error('broken')])
  })

  it('ends a source that emits within its subscription when enough is taken', () => {
    let emitted = 0
    const long$ = range(0, 1000).pipe(
      map(() => {
        emitted += 1
        return new Uint8Array(4)
      }),
    )
    const seen: number[] = []
    long$.pipe(chunk({ format, everyMs }), take(2)).subscribe((value) => seen.push(value.length))
    expect(seen).toEqual([8, 8])
    expect(emitted).toBe(4)
  })

  it('emits no further chunk of a slice after its subscriber has unsubscribed', () => {
    const source$ = new Subject<Uint8Array>()
    const seen: number[][] = []
    const subscription = source$.pipe(chunk({ format, everyMs })).subscribe((value) => {
      seen.push([...value])
      subscription.unsubscribe()
    })
    source$.next(Uint8Array.from({ length: 16 }, (_, i) => i + 1))
    expect(seen).toEqual([[...values.w]])
    expect(source$.observed).toBe(false)
  })

  it('ends with an error for a slice that is not bytes', () => {
    const seen: unknown[] = []
    from([values.a, undefined as unknown as Uint8Array])
      .pipe(chunk({ format, everyMs }))
      .subscribe({ next: (value) => seen.push([...value]), error: (error: unknown) => seen.push(error) })
    expect(seen).toEqual([[...values.z], expect.any(TypeError)])
  })

  it('passes a slice on unchanged that is exactly one chunk', () => {
    const slice = new Uint8Array(320)
    const seen: Uint8Array[] = []
    of(slice)
      .pipe(chunk({ format }))
      .subscribe((value) => seen.push(value))
    expect(seen[0]).toBe(slice)
  })

  it('gives chunks their own memory, so that none retains a large slice', () => {
    const seen: Uint8Array[] = []
    of(new Uint8Array(32_000), new Uint8Array(100))
      .pipe(chunk({ format }))
      .subscribe((value) => seen.push(value))
    expect(new Set(seen.map((value) => value.buffer.byteLength))).toEqual(new Set([320, 100]))
  })

  it('rounds a chunk down to whole samples at a rate without whole samples per chunk', () => {
    const seen: number[] = []
    const odd: AudioFormat = { encoding: 'alaw', sampleRateHz: 11_025, channels: 2 }
    of(new Uint8Array(2000))
      .pipe(chunk({ format: odd, everyMs: 20 }))
      .subscribe((value) => seen.push(value.length))
    expect(seen).toEqual([440, 440, 440, 440, 240])
  })

  it('neither loses, repeats nor reorders a byte with any slicing', () => {
    const slices = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 })
    fc.assert(
      fc.property(slices, fc.constantFrom<1 | 2>(1, 2), fc.boolean(), (parts, channels, fails) => {
        const all = parts.flatMap((part) => [...part])
        const frameBytes = 2 * channels
        const seen: Uint8Array[] = []
        let end: unknown = 'none'
        const source$ = fails
          ? concat(
              from(parts),
              throwError(() => new Error('broken')),
            )
          : from(parts)
        source$.pipe(chunk({ format: { ...format, channels }, everyMs })).subscribe({
          next: (value) => seen.push(value),
          error: (error: unknown) => (end = error),
          complete: () => (end = 'complete'),
        })
        const whole = all.length - (all.length % frameBytes)
        expect(seen.flatMap((value) => [...value])).toEqual(all.slice(0, whole))
        expect(seen.slice(0, -1).every((value) => value.length === 4 * frameBytes)).toBe(true)
        if (fails) expect(end).toEqual(new Error('broken'))
        else if (whole === all.length) expect(end).toBe('complete')
        else expect(end).toEqual(cut(all.length - whole, frameBytes))
      }),
    )
  })

  it.each([0, -20, 0.1, NaN, Infinity, 10_001])('rejects everyMs of %s immediately', (wrong) => {
    expect(codeThrownBy(() => chunk({ format, everyMs: wrong }))).toBe('invalid-options')
  })

  it('rejects an invalid format immediately', () => {
    expect(codeThrownBy(() => chunk({ format: { ...format, sampleRateHz: 44 } }))).toBe('invalid-format')
  })
})
