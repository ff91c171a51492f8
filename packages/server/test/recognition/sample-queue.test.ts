import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SampleQueue } from '../../src/recognition/sample-queue.js'

type Step = readonly ['append', number] | readonly ['take' | 'forget', number]

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.tuple(fc.constant('append' as const), fc.nat({ max: 40 })),
    fc.tuple(fc.constantFrom('take' as const, 'forget' as const), fc.nat({ max: 60 })),
  ),
  { maxLength: 60 },
)

describe('SampleQueue', () => {
  it('returns every sample unchanged and at its position, for any sequence of calls', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const tail = new SampleQueue(16)
        let end = 0
        for (const [step, count] of sequence) {
          const begin = tail.begin
          if (step === 'append') {
            tail.append(Int16Array.from({ length: count }, (_, index) => end + index))
            end += count
          } else if (step === 'forget') tail.discardBefore(begin + count)
          else {
            const taken = tail.take(begin + count)
            expect([...taken]).toEqual(
              Array.from({ length: Math.min(count, end - begin) }, (_, index) => begin + index),
            )
          }
          expect(tail.end).toBe(end)
        }
      }),
    )
  })

  it('keeps samples ahead of its end until it advances, also round the end of the ring', () => {
    const queue = new SampleQueue(6)
    queue.append(Int16Array.of(1, 2, 3, 4))
    queue.discardBefore(3)
    queue.appendAhead(Int16Array.of(5, 6, 7, 8))
    expect([queue.end, queue.ahead, [...queue.take(9)]]).toEqual([4, 4, [4]])
    const frame = new Int16Array(3)
    queue.readAhead(frame)
    queue.advance(3)
    expect([[...frame], queue.end, queue.ahead, [...queue.copy(0, 9)]]).toEqual([[5, 6, 7], 7, 1, [5, 6, 7]])
  })

  it('returns copies that later audio does not change', () => {
    const tail = new SampleQueue(4)
    tail.append(Int16Array.of(1, 2))
    const taken = tail.take(2)
    for (let count = 0; count < 10; count += 1) tail.append(Int16Array.of(9, 9))
    expect([...taken]).toEqual([1, 2])
  })
})
