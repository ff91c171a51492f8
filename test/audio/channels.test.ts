import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deinterleaveChannels, interleaveChannels } from '../../src/audio/channels.js'

const widths = [1, 2] as const

/** The same bytes at an offset of their memory, as a Node Buffer or not. */
const placed = (bytes: Uint8Array, offset: number, asBuffer: boolean): Uint8Array => {
  const memory = new Uint8Array(offset + bytes.length + 5)
  memory.set(bytes, offset)
  return asBuffer ? Buffer.from(memory.buffer, offset, bytes.length) : memory.subarray(offset, offset + bytes.length)
}

const placement = fc.tuple(fc.nat(7), fc.boolean())

describe.each(widths)('channels of %i-byte samples', (width) => {
  const whole = (bytes: Uint8Array, unit: number): Uint8Array => bytes.slice(0, bytes.length - (bytes.length % unit))

  it('lie as in a WAV file: left, right, left, right', () => {
    const left = Uint8Array.of(1, 2, 3, 4)
    const right = Uint8Array.of(5, 6, 7, 8)
    const expected = width === 1 ? [1, 5, 2, 6, 3, 7, 4, 8] : [1, 2, 5, 6, 3, 4, 7, 8]
    expect([...interleaveChannels(left, right, width)]).toEqual(expected)
  })

  it('are the same again after interleaving and deinterleaving, at any offset', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 65 }), placement, placement, (content, first, second) => {
        const left = whole(content, width)
        const right = left.map((byte) => byte ^ 0xff)
        const [leftAgain, rightAgain] = deinterleaveChannels(
          interleaveChannels(placed(left, ...first), placed(right, ...second), width),
          width,
        )
        expect([...leftAgain]).toEqual([...left])
        expect([...rightAgain]).toEqual([...right])
      }),
    )
  })

  it('are the same again after deinterleaving and interleaving, at any offset', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 65 }), placement, (content, place) => {
        const frames = whole(content, 2 * width)
        const [left, right] = deinterleaveChannels(placed(frames, ...place), width)
        expect([...interleaveChannels(left, right, width)]).toEqual([...frames])
      }),
    )
  })

  it('leave the input untouched and share no memory with it', () => {
    const frames = Uint8Array.of(1, 2, 3, 4)
    const [left, right] = deinterleaveChannels(frames, width)
    left.fill(0)
    right.fill(0)
    expect([...frames]).toEqual([1, 2, 3, 4])
  })

  it('may be empty', () => {
    expect(interleaveChannels(new Uint8Array(0), new Uint8Array(0), width)).toHaveLength(0)
    expect(deinterleaveChannels(new Uint8Array(0), width)).toEqual([new Uint8Array(0), new Uint8Array(0)])
  })

  it('are rejected when they differ in length or cut a frame', () => {
    const cutSample = expect.objectContaining({ code: 'cut-sample' }) as Error
    expect(() => interleaveChannels(new Uint8Array(4), new Uint8Array(2), width)).toThrowError(cutSample)
    expect(() => deinterleaveChannels(new Uint8Array(2 * width + 1), width)).toThrowError(cutSample)
    if (width === 2) expect(() => interleaveChannels(new Uint8Array(3), new Uint8Array(3), 2)).toThrowError(cutSample)
  })
})
