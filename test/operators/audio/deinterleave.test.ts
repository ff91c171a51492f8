import * as fc from 'fast-check'
import { from, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../src/audio/format.js'
import { deinterleave } from '../../../src/operators/audio/deinterleave.js'
import { codeThrownBy } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }

/** The frames (1 2 | 3 4) (5 6 | 7 8) (9 10 | 11 12), cut within samples. */
const values = {
  a: bytes(1, 2, 3, 4, 5),
  b: bytes(6),
  c: bytes(7, 8, 9, 10, 11, 12),
}
const pairs = {
  x: [bytes(1, 2), bytes(3, 4)],
  y: [bytes(5, 6, 9, 10), bytes(7, 8, 11, 12)],
} satisfies Record<string, [Uint8Array, Uint8Array]>

describe('deinterleave', () => {
  // Both channels of the frames that each slice completes.
  itIsAnOperator({
    operator: () => deinterleave({ format }),
    values,
    outputs: pairs,
    source: '  -a-b-c-|',
    expected: '-x---y-|',
    failed: '  -x-#',
  })

  it('keeps the order when a subscriber feeds the source while it receives a pair', () => {
    const source$ = new Subject<Uint8Array>()
    const seen: unknown[] = []
    source$.pipe(deinterleave({ format })).subscribe((pair) => {
      seen.push(pair)
      if (seen.length === 1) source$.next(bytes(6, 7, 8, 9, 10, 11, 12))
    })
    source$.next(values.a)
    expect(seen).toEqual([pairs.x, pairs.y])
  })

  it('ends with cut-sample that names the bytes when the source completes within a frame', () => {
    const errors: unknown[] = []
    from([values.a, values.b])
      .pipe(deinterleave({ format }))
      .subscribe({ error: (error: unknown) => errors.push(error) })
    expect(errors).toMatchObject([
      { code: 'cut-sample', message: expect.stringContaining('only 2 of its last 4 bytes') },
    ])
  })

  it('deinterleaves audio with any slicing like unsliced audio', () => {
    const slices = fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 20 })
    fc.assert(
      fc.property(slices, fc.constantFrom('pcm' as const, 'ulaw' as const), (parts, encoding) => {
        const size = encoding === 'pcm' ? 2 : 1
        const all = parts.flatMap((part) => [...part])
        const whole = all.slice(0, all.length - (all.length % (2 * size)))
        const [left, right]: [number[], number[]] = [[], []]
        from(parts)
          .pipe(deinterleave({ format: { ...format, encoding } }))
          .subscribe({
            next: (pair) => {
              left.push(...pair[0])
              right.push(...pair[1])
            },
            error: () => undefined,
          })
        expect(left).toEqual(whole.filter((_, i) => i % (2 * size) < size))
        expect(right).toEqual(whole.filter((_, i) => i % (2 * size) >= size))
      }),
    )
  })

  it('rejects mono immediately', () => {
    expect(codeThrownBy(() => deinterleave({ format: { ...format, channels: 1 } }))).toBe('invalid-format')
  })
})
