import { describe, expect, it, vi } from 'vitest'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import { atTakenRate, delivered } from '../../../src/cli/input/sendable-audio.js'

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
async function* pieces(...sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let next = 0
  for (const size of sizes) yield Uint8Array.from({ length: size }, () => next++ % 251)
}
const collect = async (audio: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> => {
  const parts: Uint8Array[] = []
  for await (const part of audio) parts.push(part)
  return parts
}
const alwaysWritable = () => undefined

describe('delivered', () => {
  it('cuts slices into chunks of 100 ms, loses nothing and reports what it sent', async () => {
    const sent: number[] = []
    const audio = { format: pcm, audio: pieces(4000, 10) }
    const chunks = await collect(
      delivered(audio, {
        pace: { speed: Infinity },
        whenWritable: alwaysWritable,
        sent: (audioMs) => sent.push(audioMs),
      }),
    )
    expect(chunks.map(({ length }) => length)).toEqual([1600, 1600, 800, 10])
    expect(Buffer.concat(chunks)).toEqual(Buffer.concat(await collect(pieces(4000, 10))))
    expect(sent).toEqual([100, 200, 250, 250.625])
  })

  it('emits a chunk at its time, counted from the first', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const audio = { format: pcm, audio: pieces(640) }
      const chunks = delivered(audio, { pace: { speed: 1 }, whenWritable: alwaysWritable, sent: () => undefined })
      await chunks.next()
      vi.advanceTimersByTime(20)
      expect((await chunks.next()).value).toHaveLength(320)
      expect(await chunks.next()).toMatchObject({ done: true })
    } finally {
      vi.useRealTimers()
    }
  })

  it('emits a burst immediately, then keeps to its pace, and catches up after a stall up to the burst', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      let sentMs = 0
      const pace = { speed: 1.25, burstMs: 1000 }
      const chunks = delivered(
        { format: pcm, audio: pieces(16 * 4000) },
        { pace, whenWritable: alwaysWritable, sent: (audioMs) => (sentMs = audioMs) },
      )
      const waits = Symbol('waits')
      let asked: Promise<unknown> | undefined
      // The clock stands still, so a chunk whose time has not come waits for a timer of 20 ms.
      const takeAtOnce = async (): Promise<void> => {
        for (;;) {
          asked ??= chunks.next()
          const next = await Promise.race([asked, new Promise((resolve) => setImmediate(resolve, waits))])
          if (next === waits) return
          asked = undefined
        }
      }
      await takeAtOnce()
      expect(sentMs).toBe(1025)
      vi.advanceTimersByTime(2000)
      await asked
      asked = undefined
      await takeAtOnce()
      expect(sentMs).toBe(2700)
    } finally {
      vi.useRealTimers()
    }
  })

  it('waits for the drain before each chunk', async () => {
    let becomeWritable = (): void => undefined
    const whenWritable = () => new Promise<void>((resolve) => (becomeWritable = resolve))
    const chunks = delivered(
      { format: pcm, audio: pieces(10) },
      { pace: { speed: Infinity }, whenWritable, sent: () => undefined },
    )
    let isThere = false
    const next = chunks.next().then(() => (isThere = true))
    await new Promise(setImmediate)
    expect(isThere).toBe(false)
    becomeWritable()
    await next
    expect(isThere).toBe(true)
  })
})

describe('atTakenRate', () => {
  it('leaves audio of 8000 and 16000 Hz unchanged', () => {
    const audio = { format: { ...pcm, encoding: 'ulaw', sampleRateHz: 16_000 } as const, audio: pieces(10) }
    const taken = atTakenRate(audio)
    expect(taken.audio).toBe(audio.audio)
    expect(taken.format).toBe(audio.format)
  })

  it('resamples any other rate to PCM of 16000 Hz, with the same duration', async () => {
    const format = { encoding: 'alaw', sampleRateHz: 44_100, channels: 2 } as const
    const audio = atTakenRate({ format, audio: pieces(44_100, 44_100) })
    expect(audio.format).toEqual({ encoding: 'pcm', sampleRateHz: 16_000, channels: 2 })
    expect(Buffer.concat(await collect(audio.audio))).toHaveLength(16_000 * 2 * 2)
  })
})
