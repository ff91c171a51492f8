import * as fc from 'fast-check'
import { from, of, Subject, type MonoTypeOperatorFunction } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { decodeSamples, encodeSamples } from '../../../src/audio/codec.js'
import { encodings, type Encoding } from '../../../src/audio/format.js'
import { transcode } from '../../../src/operators/audio/transcode.js'
import { codeThrownBy } from '../marbles.js'
import { itIsAnOperator } from '../operator-laws.js'

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const pcm = (...samples: number[]): Uint8Array => encodeSamples(Int16Array.from(samples), 'pcm')
const ulaw = (...samples: number[]): Uint8Array => encodeSamples(Int16Array.from(samples), 'ulaw')

/** Samples 100, -2000, 3000 as PCM, cut within the second. */
const whole = pcm(100, -2000, 3000)
const values = {
  a: whole.slice(0, 3),
  b: whole.slice(3),
  o: bytes(1),
  x: ulaw(100),
  y: ulaw(-2000, 3000),
}
const toMuLaw = (): MonoTypeOperatorFunction<Uint8Array> => transcode({ from: 'pcm', to: 'ulaw' })

describe('transcode', () => {
  // A slice is transcoded at once, and a cut sample carried into the next.
  itIsAnOperator({
    operator: toMuLaw,
    values,
    outputs: values,
    source: '  -a-b-|',
    expected: '-x-y-|',
    failed: '  -x-#',
  })

  it('keeps the order when a subscriber feeds the source while it receives a slice', () => {
    const source$ = new Subject<Uint8Array>()
    const seen: Uint8Array[] = []
    source$.pipe(toMuLaw()).subscribe((slice) => {
      seen.push(slice)
      if (seen.length === 1) source$.next(values.b)
    })
    source$.next(values.a)
    expect(seen).toEqual([values.x, values.y])
  })

  it('ends with cut-sample when the source completes within a sample', () => {
    const errors: unknown[] = []
    of(values.o)
      .pipe(toMuLaw())
      .subscribe({ error: (error: unknown) => errors.push(error) })
    expect(errors).toMatchObject([
      { code: 'cut-sample', message: expect.stringContaining('only 1 of its last 2 bytes') },
    ])
  })

  it.each(encodings)('passes the source on unchanged from %s to itself', (encoding) => {
    const source$ = of(values.o)
    expect(source$.pipe(transcode({ from: encoding, to: encoding }))).toBe(source$)
  })

  it('transcodes every pair of encodings like the codec, with any slicing', () => {
    const slices = fc.array(fc.uint8Array({ maxLength: 7 }), { maxLength: 20 })
    const anEncoding = fc.constantFrom<Encoding>(...encodings)
    fc.assert(
      fc.property(slices, anEncoding, anEncoding, (parts, source, target) => {
        fc.pre(source !== target)
        const all = Uint8Array.from(parts.flatMap((part) => [...part]))
        const aligned = source === 'pcm' ? all.slice(0, all.length - (all.length % 2)) : all
        const seen: number[] = []
        from(parts)
          .pipe(transcode({ from: source, to: target }))
          .subscribe({ next: (slice) => seen.push(...slice), error: () => undefined })
        expect(seen).toEqual([...encodeSamples(decodeSamples(aligned, source), target)])
      }),
    )
  })

  it('rejects an unknown encoding immediately', () => {
    expect(codeThrownBy(() => transcode({ from: 'mp3' as Encoding, to: 'pcm' }))).toBe('invalid-options')
    expect(codeThrownBy(() => transcode({ from: 'pcm', to: 'toString' as Encoding }))).toBe('invalid-options')
  })
})
