import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FrameCounter } from '../../src/listen/frame-counter.js'
import { maskedFrame } from './masked-frame.js'

/** The first byte of a text, a binary and a continued frame, of its continuations, and of control frames. */
const messages = [0x81, 0x82, 0x01, 0x02]
const others = [0x00, 0x80, 0x88, 0x89, 0x8a]

const frames = fc.array(
  fc.record({
    first: fc.constantFrom(...messages, ...others),
    length: fc.constantFrom(0, 1, 125, 126, 640, 65_535, 65_536),
  }),
  { maxLength: 12 },
)

describe('the counter of frames', () => {
  it('counts those that are no message of their own, however the bytes are cut', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(({ first, length }) => maskedFrame(first, Buffer.alloc(length, 0x89))))
        const counter = new FrameCounter()
        let count = 0
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const end = at + (cuts[turn % cuts.length] ?? 1)
          count += counter.push(bytes.subarray(at, end))
          at = end
        }
        expect(count).toBe(sent.filter(({ first }) => others.includes(first)).length)
      }),
      { numRuns: 50 },
    )
  })
})
