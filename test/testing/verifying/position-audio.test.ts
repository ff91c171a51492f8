import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { positionAudio, PositionReader } from '../../../src/testing/verifying/position-audio.js'
import { countSamples, union, without } from '../../../src/testing/verifying/report.js'

const readAll = (channels: 1 | 2, ...messages: readonly Uint8Array[]) => {
  const reader = new PositionReader(channels)
  for (const message of messages) reader.take(message)
  return {
    runs: reader.runs.map(({ receivedFrom, source }) => [receivedFrom, source.from, source.to]),
    foreign: reader.foreignSamples,
  }
}

describe('positionAudio', () => {
  it('encodes the position of any part, however messages divide it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 900_000_000 }),
        fc.integer({ min: 6, max: 2_000 }),
        fc.integer({ min: 1, max: 999 }),
        fc.constantFrom(1, 2),
        (from, count, cut, channels) => {
          const bytes = positionAudio(from, count, channels)
          const at = Math.min(cut, bytes.length)
          expect(readAll(channels, bytes.subarray(0, at), bytes.subarray(at))).toEqual({
            runs: [[0, from, from + count]],
            foreign: 0,
          })
        },
      ),
    )
  })

  it('shows which samples are missing or repeated', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 8, max: 500 })), {
          minLength: 1,
          maxLength: 6,
        }),
        (pieces) => {
          // A sample tells its position among 2^16 at most: one in so many pieces begins as the one before would go on.
          fc.pre(
            pieces.every(([from], at) => {
              const [before = from, count = 0] = pieces[at - 1] ?? []
              return at === 0 || !Buffer.from(positionAudio(before + count, 1)).equals(positionAudio(from, 1))
            }),
          )
          const { runs, foreign } = readAll(1, ...pieces.map(([from, count]) => positionAudio(from, count)))
          expect(foreign).toBe(0)
          const arrived = runs.map(([, from = 0, to = 0]) => ({ from, to }))
          expect(union(arrived)).toEqual(union(pieces.map(([from, count]) => ({ from, to: from + count }))))
          expect(countSamples(arrived)).toBe(pieces.reduce((sum, [, count]) => sum + count, 0))
        },
      ),
    )
  })

  it('counts samples of other audio', () => {
    const { runs, foreign } = readAll(1, new Uint8Array(200).fill(0x55), positionAudio(40, 100))
    expect(runs).toEqual([[100, 40, 140]])
    expect(foreign).toBe(100)
    expect(readAll(1, new Uint8Array(2_000)).runs).toEqual([])
  })
})

describe('sample ranges', () => {
  it('can be joined and subtracted', () => {
    expect(
      union([
        { from: 5, to: 9 },
        { from: 0, to: 5 },
        { from: 20, to: 20 },
        { from: 12, to: 13 },
      ]),
    ).toEqual([
      { from: 0, to: 9 },
      { from: 12, to: 13 },
    ])
    expect(
      without(
        [{ from: 0, to: 10 }],
        [
          { from: 2, to: 3 },
          { from: 8, to: 20 },
        ],
      ),
    ).toEqual([
      { from: 0, to: 2 },
      { from: 3, to: 8 },
    ])
    expect(without([{ from: 0, to: 10 }], [{ from: 0, to: 10 }])).toEqual([])
  })
})
