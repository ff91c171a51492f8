import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HeldAudio } from '../../src/sessions/held-audio.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'

const heldAudio = (onAccept?: (audio: HeldAudio) => void) => {
  const clock = new VirtualClock()
  const passed: { readonly bytes: Uint8Array; readonly frameCount: number }[] = []
  const audio = new HeldAudio({
    frameBytes: 2,
    sampleRateHz: 1000,
    scheduler: clock,
    accept: (bytes, frameCount) => {
      passed.push({ bytes, frameCount })
      onAccept?.(audio)
    },
  })
  let count = 0
  /** Frames with consecutive numbers, in memory that the sender uses again, at an odd offset. */
  const memory = new Uint8Array(1001)
  const add = (frameCount: number): void => {
    const bytes = memory.subarray(1, 1 + 2 * frameCount)
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = count += 1
    audio.add(bytes, frameCount)
  }
  const lengths = (): readonly number[] => passed.splice(0).map(({ frameCount }) => frameCount)
  return { clock, audio, passed, add, lengths }
}

describe('HeldAudio', () => {
  it('passes on every message at once unless the session holds it back', () => {
    const { add, passed } = heldAudio()
    add(3)
    add(1)
    expect(passed.map(({ bytes, frameCount }) => [bytes.length, frameCount])).toEqual([
      [6, 3],
      [2, 1],
    ])
  })

  it('joins messages until there are as many frames as the session waits for', () => {
    const { audio, add, lengths } = heldAudio()
    audio.hold(6)
    for (const frameCount of [2, 2, 2, 5, 2, 7, 5, 1, 6]) add(frameCount)
    expect(lengths()).toEqual([6, 7, 7, 6, 6])
    audio.hold(0)
    add(1)
    expect(lengths()).toEqual([1])
  })

  it('copies what it holds back, to an even offset', () => {
    const { audio, add, passed } = heldAudio()
    audio.hold(4)
    add(2)
    add(2)
    const [joined] = passed
    expect([...(joined?.bytes ?? [])]).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect((joined?.bytes.byteOffset ?? 1) % 2).toBe(0)
  })

  it('passes on what it holds back when it is asked to, once', () => {
    const { audio, add, passed } = heldAudio()
    audio.hold(6)
    audio.flush()
    expect(passed).toEqual([])
    add(2)
    audio.flush()
    audio.flush()
    expect(passed).toEqual([{ bytes: Uint8Array.of(1, 2, 3, 4), frameCount: 2 }])
  })

  it('knows when audio arrived, held back or not, and when it would end', () => {
    const { clock, audio, add } = heldAudio()
    audio.hold(100)
    clock.advanceTo(40)
    add(20)
    clock.advanceTo(50)
    add(20)
    expect([audio.lastMs, audio.playedMs, audio.receivedFrames]).toEqual([50, 80, 40])
    for (let count = 0; count < 15; count += 1) add(500)
    expect([audio.lastMs, audio.playedMs]).toEqual([50, 5050])
  })

  it('passes on every byte once and in order, for any sequence of calls', () => {
    const step = fc.oneof(
      fc.tuple(fc.constantFrom('add' as const, 'hold' as const), fc.nat({ max: 12 })),
      fc.constant(['flush'] as const),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { audio, add, passed } = heldAudio()
        // What is passed on at once stays in the memory of the sender.
        const received: number[] = []
        const collect = (): void => {
          for (const { bytes } of passed.splice(0)) received.push(...bytes)
        }
        let sent = 0
        for (const [name, frameCount = 0] of steps) {
          if (name === 'flush') audio.flush()
          else if (name === 'hold') audio.hold(frameCount)
          else if (frameCount > 0) {
            add(frameCount)
            sent += frameCount
          }
          collect()
        }
        audio.flush()
        collect()
        expect(received).toEqual(Array.from({ length: 2 * sent }, (_none, at) => (at + 1) % 256))
      }),
    )
  })

  it('keeps the order of what arrives while it passes on', () => {
    let more = 2
    const { audio, add, passed } = heldAudio(() => {
      more -= 1
      if (more > 0) add(1)
    })
    audio.hold(4)
    add(3)
    add(1)
    audio.flush()
    expect(passed.map(({ bytes }) => [...bytes])).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8],
      [9, 10],
    ])
  })
})
