import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatTraceparent } from '../../../../src/tracing/traceparent.js'
import { parseTraceparent } from '../../src/monitor/remote-span.js'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

describe('the header traceparent', () => {
  it.each([
    [`00-${traceId}-${spanId}-01`, 1],
    [`00-${traceId}-${spanId}-00`, 0],
    // Only the lowest bit is known.
    [`00-${traceId}-${spanId}-03`, 1],
    // A later version, with a field that is not known yet.
    [`cc-${traceId}-${spanId}-01-what-the-future-brings`, 1],
  ])('is read: %s', (header, traceFlags) => {
    expect(parseTraceparent(header)).toEqual({ traceId, spanId, traceFlags })
  })

  it.each([
    ['none', undefined],
    ['an empty value', ''],
    ['no header of this kind', 'garbage'],
    ['a version that is forbidden', `ff-${traceId}-${spanId}-01`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a parent of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['a field too many', `00-${traceId}-${spanId}-01-more`],
    ['flags without a digit', `00-${traceId}-${spanId}-0`],
    ['two headers', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ['a line break', `00-${traceId}-${spanId}-01\n`],
    ['a long value', `cc-${traceId}-${spanId}-01-${'x'.repeat(300)}`],
  ])('is ignored: %s', (_what, header) => {
    expect(parseTraceparent(header)).toBeUndefined()
  })

  it('is what was written', () => {
    const hex = (length: number): fc.Arbitrary<string> =>
      fc
        .uint8Array({ minLength: length, maxLength: length })
        .filter((bytes) => bytes.some((byte) => byte !== 0))
        .map((bytes) => Buffer.from(bytes).toString('hex'))
    fc.assert(
      fc.property(hex(16), hex(8), fc.constantFrom(0, 1), (trace, span, traceFlags) => {
        const ids = { traceId: trace, spanId: span, traceFlags }
        expect(parseTraceparent(formatTraceparent(ids))).toEqual(ids)
      }),
    )
  })

  it('reads anything without an error', () => {
    fc.assert(fc.property(fc.string(), (text) => parseTraceparent(text) === undefined || text.length > 54))
  })
})
