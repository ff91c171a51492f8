import { beforeEach, describe, expect, it } from 'vitest'
import { BucketPosition } from '../../src/identity/bucket-position.js'

const state = (revision: number, createdAt = 'first') => ({ createdAt, revision })

describe('the position in a bucket', () => {
  let position: BucketPosition
  beforeEach(() => {
    position = new BucketPosition()
    expect(position.begin(state(5))).toBe('continued')
    position.advance(5)
  })

  it.each([
    ['continued', state(5), 5],
    ['continued', state(6), 5],
    ['rewound', state(4), 0],
    ['replaced', state(6, 'second'), 0],
  ] as const)('is %s when a reading begins at %j', (start, at, revision) => {
    expect([position.begin(at), position.revision]).toEqual([start, revision])
  })

  it.each([
    ['current', state(5), 5],
    ['behind', state(6), 5],
    ['lost', state(4), 5],
    ['lost', state(5, 'second'), 5],
  ] as const)('is %s in comparison with %j', (comparison, at, asked) => {
    expect(position.compare(at, asked)).toBe(comparison)
  })

  it('is lost when a change has not come by the next comparison, and not before', () => {
    expect(position.compare(state(6), 5)).toBe('behind')
    position.advance(6)
    expect([position.compare(state(7), 6), position.compare(state(7), 6)]).toEqual(['behind', 'lost'])
    position.begin(state(7))
    expect(position.compare(state(7), 6)).toBe('behind')
  })

  it('is complete with the last change, or when two readings lack it, which is forgotten then', () => {
    expect([position.isComplete(state(5)), position.isComplete(state(6))]).toEqual([true, false])
    expect([position.isComplete(state(7)), position.isComplete(state(7)), position.revision]).toEqual([false, true, 7])
  })
})
