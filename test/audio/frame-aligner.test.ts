import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FrameAligner } from '../../src/audio/frame-aligner.js'

describe('FrameAligner', () => {
  it('returns all bytes in their order as whole frames, and then the incomplete one', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 12 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), chunks, (frameBytes, pushed) => {
        const aligner = new FrameAligner(frameBytes)
        const frames = pushed.map((chunk) => aligner.push(chunk))
        const rest = aligner.rest()
        expect(frames.every(({ byteLength }) => byteLength % frameBytes === 0)).toBe(true)
        expect(rest.byteLength).toBeLessThan(frameBytes)
        expect([...frames, rest].flatMap((bytes) => [...bytes])).toEqual(pushed.flatMap((bytes) => [...bytes]))
      }),
    )
  })

  it('passes whole frames unchanged, without a copy', () => {
    const aligner = new FrameAligner(2)
    const whole = Uint8Array.of(1, 2, 3, 4)
    expect(aligner.push(whole)).toBe(whole)
    aligner.push(Uint8Array.of(1))
    aligner.push(Uint8Array.of(2))
    expect(aligner.push(whole)).toBe(whole)
  })

  it('keeps an incomplete frame although the source reuses its buffer', () => {
    const aligner = new FrameAligner(2)
    const buffer = Uint8Array.of(1, 2, 3)
    aligner.push(buffer)
    buffer.fill(9)
    expect([...aligner.push(Uint8Array.of(4))]).toEqual([3, 4])
  })

  it('has taken the incomplete frame after `rest`', () => {
    const aligner = new FrameAligner(2)
    aligner.push(Uint8Array.of(1))
    expect([...aligner.rest()]).toEqual([1])
    expect(aligner.rest().byteLength).toBe(0)
    expect([...aligner.push(Uint8Array.of(2, 3))]).toEqual([2, 3])
  })
})
