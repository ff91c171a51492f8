import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../src/service/nodes/core/node.js'
import { BoundedWire } from '../../../src/service/project/bounded-wire.js'
import type { WhenFull } from '../../../src/service/project/project-graph.js'
import type { Drops, WireTerms } from '../../../src/service/project/wire-policy.js'
import { runs } from '../../thorough.js'

/** One byte a frame; silence is 0, and no other byte is. */
const wireOf = (whenFull: WhenFull, change: Partial<WireTerms> = {}) => {
  const blocked: boolean[] = []
  const dropped: Drops[] = []
  const terms: WireTerms = {
    kind: 'audio',
    whenFull,
    capacity: 10,
    slack: 5,
    frameBytes: 1,
    silence: new Uint8Array(4),
    ...change,
  }
  const wire = new BoundedWire(terms, {
    blocked: (is) => blocked.push(is),
    dropped: (drops) => dropped.push(drops),
  })
  return { wire, blocked, dropped }
}

const audio = (...bytes: readonly number[]): NodeItem => ({ type: 'audio', bytes: new Uint8Array(bytes) })
const frames = (count: number, value = 1): NodeItem => audio(...new Array<number>(count).fill(value))
const event = (name: string): NodeItem => ({ type: 'event', event: { name } })

const takeAll = (wire: BoundedWire): readonly number[] => {
  const taken: number[] = []
  for (let item = wire.take(); item !== undefined; item = wire.take()) {
    if (item.type === 'audio') taken.push(...item.bytes)
  }
  return taken
}

describe('a wire that blocks', () => {
  it('gives everything on, says when it is full, and that it is half empty', () => {
    const { wire, blocked } = wireOf('block')
    expect(wire.offer(frames(10))).toBe('taken')
    expect(blocked).toEqual([])
    expect(wire.offer(frames(2))).toBe('taken')
    expect(blocked).toEqual([true])
    expect(takeAll(wire)).toHaveLength(12)
    wire.consumed(6)
    expect(blocked).toEqual([true])
    wire.consumed(1)
    expect(blocked).toEqual([true, false])
    expect(wire.held).toBe(5)
  })

  it('calls it a flood when it is given more than its slack above what it holds', () => {
    const { wire } = wireOf('block')
    expect(wire.offer(frames(15))).toBe('taken')
    expect(wire.offer(frames(1))).toBe('flooded')
  })

  it('holds nobody up any more when its consumer wants no more to be counted, or is gone', () => {
    for (const release of [(wire: BoundedWire) => wire.consumed(Infinity), (wire: BoundedWire) => wire.drain()]) {
      const { wire, blocked } = wireOf('block')
      wire.offer(frames(12))
      takeAll(wire)
      release(wire)
      expect(blocked).toEqual([true, false])
      wire.offer(frames(9))
      takeAll(wire)
      wire.offer(frames(9))
      expect(blocked).toEqual([true, false])
    }
  })
})

describe('a wire that fails', () => {
  it('takes what fits and no more', () => {
    const { wire } = wireOf('fail')
    expect(wire.offer(frames(10))).toBe('taken')
    expect(wire.offer(frames(1))).toBe('full')
    takeAll(wire)
    wire.consumed(1)
    expect(wire.offer(frames(1))).toBe('taken')
  })
})

describe('a wire that drops the newest', () => {
  it('takes what fits, and gives silence for the rest when there is room', () => {
    const { wire, dropped } = wireOf('dropNewest')
    wire.offer(frames(8, 1))
    expect(takeAll(wire)).toHaveLength(8)
    wire.offer(frames(5, 2))
    expect(dropped).toEqual([{ phase: 'begun', dropped: 3, atCount: 13 }])
    // Not half empty yet: what comes is dropped, too, and all of it is one silence.
    wire.offer(frames(2, 3))
    expect(takeAll(wire)).toEqual([])
    wire.consumed(5)
    expect(takeAll(wire)).toEqual([2, 2])
    wire.consumed(5)
    expect(takeAll(wire)).toEqual([0, 0, 0, 0, 0])
    wire.offer(frames(2, 4))
    wire.consumed(5)
    expect(takeAll(wire)).toEqual([4, 4])
    expect(dropped.at(-1)).toEqual({ phase: 'ended', dropped: 5, atCount: 13 })
  })
})

describe('a wire that drops the oldest', () => {
  it('gives on half of what it holds, and drops from the rest', () => {
    const { wire, dropped } = wireOf('dropOldest')
    wire.offer(audio(1, 2, 3, 4, 5, 6, 7, 8))
    expect(takeAll(wire)).toEqual([1, 2, 3, 4, 5])
    wire.offer(audio(9, 10))
    expect(dropped).toEqual([])
    wire.offer(audio(11, 12))
    expect(dropped).toEqual([{ phase: 'begun', dropped: 2, atCount: 12 }])
    wire.consumed(4)
    expect(takeAll(wire)).toEqual([0, 0, 8, 9])
    wire.consumed(5)
    wire.offer(audio(13))
    expect(takeAll(wire)).toEqual([10, 11, 12, 13])
    expect(dropped.at(-1)).toEqual({ phase: 'ended', dropped: 2, atCount: 12 })
  })

  it('counts events, and puts nothing in their place', () => {
    const { wire, dropped } = wireOf('dropOldest', { kind: 'event', capacity: 2 })
    for (const name of ['a', 'b', 'c', 'd']) wire.offer(event(name))
    wire.finish()
    expect(dropped.map(({ phase, dropped: count }) => [phase, count])).toEqual([
      ['begun', 1],
      ['ended', 2],
    ])
    expect([wire.take(), wire.take()]).toEqual([event('c'), undefined])
    wire.consumed(1)
    expect(wire.take()).toEqual(event('d'))
  })
})

/** What happens to a wire: something comes, something is taken, something is dealt with. */
const step = fc.oneof(
  fc.record({ type: fc.constant('offer' as const), count: fc.integer({ min: 1, max: 25 }) }),
  fc.record({ type: fc.constant('take' as const), count: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ type: fc.constant('consume' as const), count: fc.integer({ min: 1, max: 12 }) }),
)

describe('any wire that drops', () => {
  it.each(['dropOldest', 'dropNewest'] as const)(
    '%s: keeps the order, loses nothing untold, never exceeds its bound',
    (whenFull) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
          const { wire, dropped } = wireOf(whenFull)
          let next = 0
          let inFlight = 0
          const taken: number[] = []
          const take = (): void => {
            const item = wire.take()
            if (item?.type !== 'audio') return
            taken.push(...item.bytes)
            inFlight += item.bytes.length
          }
          for (const { type, count } of steps) {
            // 1 to 255 in turn: 0 is silence.
            if (type === 'offer') wire.offer(audio(...Array.from({ length: count }, () => (next++ % 255) + 1)))
            else if (type === 'take') for (let at = 0; at < count; at++) take()
            else {
              wire.consumed(Math.min(count, inFlight))
              inFlight -= Math.min(count, inFlight)
            }
            expect(wire.held).toBeLessThanOrEqual(10)
          }
          for (let at = 0; at < 2000 && !wire.isEmpty; at++) {
            wire.consumed(inFlight)
            inFlight = 0
            take()
          }
          wire.finish()
          // Every frame is where it was, or silence is.
          expect(taken).toHaveLength(next)
          expect(taken.filter((byte, at) => byte !== 0 && byte !== (at % 255) + 1)).toEqual([])
          const silent = taken.filter((byte) => byte === 0).length
          const told = dropped.filter(({ phase }) => phase === 'ended').reduce((sum, one) => sum + one.dropped, 0)
          expect(told).toBe(silent)
        }),
        { numRuns: runs(500) },
      )
    },
  )
})
