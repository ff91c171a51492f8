import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BlockBuffer } from '../../../src/client/audio/block-buffer.js'
import { runs } from '../../thorough.js'

type Act = readonly [act: 'append' | 'skip' | 'dropBefore' | 'dropAfter', amount: number]

describe('the block buffer', () => {
  it('holds the same as a plain list, with any operations', () => {
    const acts = fc.array<Act>(
      fc.tuple(
        fc.constantFrom('append', 'append', 'append', 'dropBefore', 'dropAfter', 'skip'),
        fc.oneof(fc.nat(20), fc.nat(9_000)),
      ),
      { maxLength: 60 },
    )
    fc.assert(
      fc.property(acts, (sequence) => {
        const ring = new BlockBuffer()
        let start = 0
        let list: number[] = []
        let byte = 0
        for (const [act, amount] of sequence) {
          const end = start + list.length
          if (act === 'append') {
            const bytes = Uint8Array.from({ length: amount }, () => (byte = (byte + 1) % 251))
            ring.append(bytes)
            list.push(...bytes)
            bytes.fill(255)
          } else if (act === 'skip') {
            ring.skip(amount)
            start = end + amount
            list = []
          } else if (act === 'dropBefore') {
            ring.dropBefore(start + amount - 5)
            const dropped = Math.max(0, Math.min(list.length, amount - 5))
            start += dropped
            list = list.slice(dropped)
          } else {
            ring.dropAfter(end - amount)
            list = list.slice(0, Math.max(0, list.length - amount))
          }
          expect([ring.start, ring.end]).toEqual([start, start + list.length])
          const from = Math.floor(list.length / 3)
          expect([...ring.slice(start + from, start + list.length)]).toEqual(list.slice(from))
        }
      }),
      { numRuns: runs(300) },
    )
  })
})
