import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { Wire, type WireTarget } from '../../../src/project/runtime/wire.js'
import type { WhenFull } from '../../../src/project/format/project-graph.js'
import type { Drops } from '../../../src/project/runtime/wire-drops.js'
import type { WireOptions } from '../../../src/project/runtime/wire-options.js'
import { runs } from '../../../../../test/thorough.js'

/** The tests read from the wires themselves. */
const noTarget: WireTarget = { takesInput: false, hasManualAck: true, give: () => undefined, endInput: () => undefined }

/** Each frame has one byte; only silence is 0. */
const wireOf = (whenFull: WhenFull, change: Partial<WireOptions> = {}) => {
  const blocked: boolean[] = []
  const dropped: Drops[] = []
  const options: WireOptions = {
    from: { node: 'a', port: 'audio' },
    to: { node: 'b', port: 'audio' },
    kind: 'audio',
    whenFull,
    capacity: 10,
    slack: 5,
    frameBytes: 1,
    silence: new Uint8Array(4),
    sampleRateHz: 1000,
    ...change,
  }
  const wire = new Wire(options, noTarget, {
    ready: () => undefined,
    blocked: (is) => blocked.push(is),
    dropped: (drops) => dropped.push(drops),
  })
  return { wire, blocked, dropped }
}

const audio = (...bytes: readonly number[]): NodeItem => ({ type: 'audio', bytes: new Uint8Array(bytes) })
const frames = (count: number, value = 1): NodeItem => audio(...new Array<number>(count).fill(value))
const event = (name: string): NodeItem => ({ type: 'event', event: { name } })

const takeAll = (wire: Wire): readonly number[] => {
  const taken: number[] = []
  for (let item = wire.take(); item !== undefined; item = wire.take()) {
    if (item.type === 'audio') taken.push(...item.bytes)
  }
  return taken
}

describe('a wire that blocks', () => {
  it('delivers everything, and reports when it is full and when it is half empty', () => {
    const { wire, blocked } = wireOf('block')
    expect(wire.offer(frames(10))).toBe('taken')
    expect(blocked).toEqual([])
    expect(wire.offer(frames(2))).toBe('taken')
    expect(blocked).toEqual([true])
    expect(takeAll(wire)).toHaveLength(12)
    wire.ack(6)
    expect(blocked).toEqual([true])
    wire.ack(1)
    expect(blocked).toEqual([true, false])
    expect(wire.held).toBe(5)
  })

  it('reports a flood beyond its capacity and slack', () => {
    const { wire } = wireOf('block')
    expect(wire.offer(frames(15))).toBe('taken')
    expect(wire.offer(frames(1))).toBe('flooded')
  })

  it('never blocks again once its target acknowledges everything or has ended', () => {
    for (const release of [(wire: Wire) => wire.ack(Infinity), (wire: Wire) => wire.close()]) {
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
  it('refuses what does not fit', () => {
    const { wire } = wireOf('fail')
    expect(wire.offer(frames(10))).toBe('taken')
    expect(wire.offer(frames(1))).toBe('full')
    takeAll(wire)
    wire.ack(1)
    expect(wire.offer(frames(1))).toBe('taken')
  })
})

describe('a wire that drops the newest', () => {
  it('accepts what fits, and delivers silence for the rest when there is space', () => {
    const { wire, dropped } = wireOf('dropNewest')
    wire.offer(frames(8, 1))
    expect(takeAll(wire)).toHaveLength(8)
    wire.offer(frames(5, 2))
    expect(dropped).toEqual([{ phase: 'begun', dropped: 3, atCount: 13 }])
    // Not half empty yet: later audio is dropped, too, and all of it is one silence.
    wire.offer(frames(2, 3))
    expect(takeAll(wire)).toEqual([])
    wire.ack(5)
    expect(takeAll(wire)).toEqual([2, 2])
    wire.ack(5)
    expect(takeAll(wire)).toEqual([0, 0, 0, 0, 0])
    wire.offer(frames(2, 4))
    wire.ack(5)
    expect(takeAll(wire)).toEqual([4, 4])
    expect(dropped.at(-1)).toEqual({ phase: 'ended', dropped: 5, atCount: 13 })
  })
})

describe('a wire that drops the oldest', () => {
  it('delivers half of its capacity, and drops from the rest', () => {
    const { wire, dropped } = wireOf('dropOldest')
    wire.offer(audio(1, 2, 3, 4, 5, 6, 7, 8))
    expect(takeAll(wire)).toEqual([1, 2, 3, 4, 5])
    wire.offer(audio(9, 10))
    expect(dropped).toEqual([])
    wire.offer(audio(11, 12))
    expect(dropped).toEqual([{ phase: 'begun', dropped: 2, atCount: 12 }])
    wire.ack(4)
    expect(takeAll(wire)).toEqual([0, 0, 8, 9])
    wire.ack(5)
    wire.offer(audio(13))
    expect(takeAll(wire)).toEqual([10, 11, 12, 13])
    expect(dropped.at(-1)).toEqual({ phase: 'ended', dropped: 2, atCount: 12 })
  })

  it('counts events, and replaces them with nothing', () => {
    const { wire, dropped } = wireOf('dropOldest', { kind: 'event', capacity: 2 })
    for (const name of ['a', 'b', 'c', 'd']) wire.offer(event(name))
    wire.finish()
    expect(dropped.map(({ phase, dropped: count }) => [phase, count])).toEqual([
      ['begun', 1],
      ['ended', 2],
    ])
    expect([wire.take(), wire.take()]).toEqual([event('c'), undefined])
    wire.ack(1)
    expect(wire.take()).toEqual(event('d'))
  })
})

/** An item is offered, taken or acknowledged. */
const step = fc.oneof(
  fc.record({ type: fc.constant('offer' as const), count: fc.integer({ min: 1, max: 25 }) }),
  fc.record({ type: fc.constant('take' as const), count: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ type: fc.constant('consume' as const), count: fc.integer({ min: 1, max: 12 }) }),
)

describe('any wire that drops', () => {
  it.each(['dropOldest', 'dropNewest'] as const)(
    '%s: keeps the order, reports every loss, and never exceeds its capacity',
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
            // 1 to 255 cyclically: 0 is silence.
            if (type === 'offer') wire.offer(audio(...Array.from({ length: count }, () => (next++ % 255) + 1)))
            else if (type === 'take') for (let at = 0; at < count; at++) take()
            else {
              wire.ack(Math.min(count, inFlight))
              inFlight -= Math.min(count, inFlight)
            }
            expect(wire.held).toBeLessThanOrEqual(10)
          }
          for (let at = 0; at < 2000 && !wire.isEmpty; at++) {
            wire.ack(inFlight)
            inFlight = 0
            take()
          }
          wire.finish()
          // Every frame is at its position, or replaced by silence.
          expect(taken).toHaveLength(next)
          expect(taken.filter((byte, at) => byte !== 0 && byte !== (at % 255) + 1)).toEqual([])
          const silent = taken.filter((byte) => byte === 0).length
          const reported = dropped.filter(({ phase }) => phase === 'ended').reduce((sum, drop) => sum + drop.dropped, 0)
          expect(reported).toBe(silent)
        }),
        { numRuns: runs(500) },
      )
    },
  )
})
