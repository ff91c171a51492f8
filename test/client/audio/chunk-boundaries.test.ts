import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChunkBoundaries } from '../../../src/client/audio/chunk-boundaries.js'

const edgesFrom = (runs: ChunkBoundaries, from: number, end: number): readonly number[] => {
  const edges: number[] = []
  for (let at = from; at < end;) {
    at = runs.endOf(at)
    edges.push(at)
    if (edges.length > end) throw new RangeError('It does not go on.')
  }
  return edges
}

describe('the chunk boundaries', () => {
  it('end where the chunks ended, also after a part of them was dropped or rewound', () => {
    const length = fc.constantFrom(2, 320, 320, 320, 640, 6)
    fc.assert(
      fc.property(fc.array(length, { minLength: 1, maxLength: 80 }), fc.nat(), fc.nat(), (lengths, before, after) => {
        const runs = new ChunkBoundaries()
        let end = 0
        let edges: number[] = []
        const append = (value: number): void => {
          runs.append(end, value)
          end += value
          edges.push(end)
        }
        lengths.forEach(append)
        expect(edgesFrom(runs, 0, end)).toEqual(edges)
        const cut = after % (end + 1)
        runs.dropAfter(cut)
        edges = edges.filter((edge) => edge < cut)
        if (cut > 0) edges.push(cut)
        end = cut
        lengths.forEach(append)
        const from = [0, ...edges][before % (edges.length + 1)] ?? 0
        runs.dropBefore(from)
        expect(edgesFrom(runs, from, end)).toEqual(edges.filter((edge) => edge > from))
      }),
    )
  })

  it('stay bounded when no two chunks are equal, and never cut a frame or exceed the longest chunk', () => {
    const runs = new ChunkBoundaries()
    let end = 0
    const append = (length: number): void => {
      runs.append(end, length)
      end += length
    }
    for (let index = 0; index < 3_000; index++) append(index % 2 === 0 ? 320 : 640)
    let at = 0
    for (let count = 0; at < end; count++) {
      const next = runs.endOf(at)
      expect(next - at).toBeGreaterThan(0)
      expect(next - at).toBeLessThanOrEqual(640)
      expect(next % 2).toBe(0)
      expect(count).toBeLessThan(6_000)
      at = next
    }
    expect(at).toBe(end)
  })
})
