import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { joinBytes } from '../../src/audio/format.js'
import { bytesOf, samplesOf, swapBytePairs } from '../../src/audio/pcm.js'

describe('samplesOf', () => {
  it('reads 16-bit signed little-endian numbers', () => {
    expect([...samplesOf(Uint8Array.of(0, 0, 1, 0, 0, 1, 0xff, 0xff, 0, 0x80, 0xff, 0x7f))]).toEqual([
      0, 1, 256, -1, -32768, 32767,
    ])
  })

  it('shares memory at an even offset', () => {
    const memory = new ArrayBuffer(16)
    const samples = samplesOf(new Uint8Array(memory, 2, 6))
    expect(samples.buffer).toBe(memory)
    expect([samples.byteOffset, samples.length]).toEqual([2, 3])
  })

  it('reads at any offset, also from a Node Buffer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.nat(5), fc.boolean(), (content, offset, asBuffer) => {
        const whole = content.subarray(0, content.length - (content.length % 2))
        const memory = new Uint8Array(offset + whole.length + 3)
        memory.set(whole, offset)
        const bytes = asBuffer
          ? Buffer.from(memory.buffer, offset, whole.length)
          : memory.subarray(offset, offset + whole.length)
        const view = new DataView(whole.buffer, whole.byteOffset, whole.length)
        const expected = Array.from({ length: whole.length / 2 }, (_, i) => view.getInt16(2 * i, true))
        expect([...samplesOf(bytes)]).toEqual(expected)
        expect([...bytesOf(samplesOf(bytes))]).toEqual([...whole])
      }),
    )
  })

  it('rejects a cut sample and names the byte count', () => {
    expect(() => samplesOf(new Uint8Array(7))).toThrowError(
      expect.objectContaining({ code: 'cut-sample', message: expect.stringContaining('7 bytes') as string }),
    )
  })
})

describe('bytesOf', () => {
  it('is a view of the same memory, limited to the given samples', () => {
    const samples = Int16Array.of(1, 2, 3, 4).subarray(1, 3)
    const bytes = bytesOf(samples)
    expect(bytes.buffer).toBe(samples.buffer)
    expect([...bytes]).toEqual([2, 0, 3, 0])
  })
})

describe('swapBytePairs', () => {
  it('exchanges the bytes of each sample in a copy', () => {
    const bytes = Uint8Array.of(1, 2, 3, 4)
    expect([...swapBytePairs(bytes)]).toEqual([2, 1, 4, 3])
    expect([...bytes]).toEqual([1, 2, 3, 4])
  })
})

it('joins two byte arrays, including views, in a copy', () => {
  const first = Uint8Array.of(9, 1, 2).subarray(1)
  const both = joinBytes(first, Uint8Array.of(3))
  expect([...both]).toEqual([1, 2, 3])
  first.fill(0)
  expect([...both]).toEqual([1, 2, 3])
})
