import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SourceTimeline } from '../../../src/client/audio/source-timeline.js'

const acts = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 9 })), { maxLength: 60 })

describe('the timeline of the source', () => {
  it('knows the position of every kept byte, and every stretch', () => {
    fc.assert(
      fc.property(acts, fc.nat(), fc.nat(), (sequence, left, right) => {
        const timeline = new SourceTimeline()
        // The position in the source of each byte that was kept.
        const kept: number[] = []
        let source = 0
        for (const [isKept, count] of sequence) {
          if (isKept) for (let index = 0; index < count; index++) kept.push(source + index)
          else timeline.skip(kept.length, count)
          source += count
        }
        expect(timeline.isStraight).toBe(sequence.every(([isKept]) => isKept))
        kept.forEach((place, position) => {
          expect(timeline.startOf(position)).toBe(place)
          expect(timeline.endOf(position + 1)).toBe(place + 1)
          expect(timeline.positionOf(place + 1)).toBe(position + 1)
        })
        const [from = 0, to = 0] = [left % (kept.length + 1), right % (kept.length + 1)].sort((a, b) => a - b)
        const places = timeline
          .stretches(from, to)
          .flatMap((stretch) => Array.from({ length: stretch.to - stretch.from }, (_, index) => stretch.from + index))
        expect(places).toEqual(kept.slice(from, to))
      }),
    )
  })

  it('never goes back and loses no time when it has more jumps than it distinguishes', () => {
    const timeline = new SourceTimeline()
    for (let index = 1; index <= 1_000; index++) timeline.skip(index * 10, 5)
    let last = -1
    for (let position = 0; position <= 10_100; position += 7) {
      expect(timeline.startOf(position)).toBeGreaterThan(last)
      last = timeline.startOf(position)
    }
    expect(timeline.endOf(10_100)).toBe(10_100 + 5_000)
    expect(timeline.positionOf(15_100)).toBe(10_100)
  })
})
