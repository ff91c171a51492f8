import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../src/audio/format.js'
import type { Puller } from '../../../src/operators/interop/pull.js'
import { maxAheadChunks, splitPulled } from '../../../src/client/recognizer/split-stereo.js'

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }

interface Watched extends Puller<Uint8Array> {
  asked: number
  released: number
}

const pullerOf = (parts: readonly Uint8Array[], end?: Error): Watched => {
  const puller: Watched = {
    asked: 0,
    released: 0,
    next: () => {
      const value = parts[puller.asked]
      puller.asked += 1
      if (value !== undefined) return Promise.resolve({ done: false, value })
      return end === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(end)
    },
    release: () => (puller.released += 1),
  }
  return puller
}

const all = async (channel: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const parts: Uint8Array[] = []
  for await (const part of channel) parts.push(part)
  return Buffer.concat(parts)
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const endless = (): Watched => pullerOf(Array.from({ length: 1000 }, () => new Uint8Array(4)))

describe('a pulled stereo source, split in two', () => {
  it('returns the samples of each channel, with any slicing, and pulls the source once', async () => {
    const cuts = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(cuts, fc.constantFrom<AudioFormat['encoding']>('pcm', 'ulaw'), async (lengths, encoding) => {
        let from = 0
        const parts = lengths.map((length) => Uint8Array.from({ length }, () => from++ % 256))
        const whole = Buffer.concat(parts)
        const puller = pullerOf(parts)
        const sides = await Promise.all(splitPulled(puller, { ...pcm, encoding }).map(all))
        const sample = encoding === 'pcm' ? 2 : 1
        const expected: [number[], number[]] = [[], []]
        whole.forEach((byte, index) => expected[Math.floor(index / sample) % 2 === 0 ? 0 : 1].push(byte))
        expect(sides.map((side) => [...side])).toEqual(expected)
        expect(puller.asked).toBe(parts.length + 1)
      }),
    )
  })

  it('lets one channel run ahead only within a limit', async () => {
    const puller = endless()
    const [left, right] = splitPulled(puller, pcm)
    const fast = left[Symbol.asyncIterator]()
    let got = 0
    const run = (async () => {
      while ((await fast.next()).done !== true) got += 1
    })()
    await turn()
    expect([got, puller.asked]).toEqual([maxAheadChunks, maxAheadChunks])
    await right[Symbol.asyncIterator]().next()
    await turn()
    expect([got, puller.asked]).toEqual([maxAheadChunks + 1, maxAheadChunks + 1])
    await fast.return?.()
    await run
  })

  it('continues for one channel when the other has stopped, and releases the source when both have', async () => {
    const puller = endless()
    const [left, right] = splitPulled(puller, pcm).map((channel) => channel[Symbol.asyncIterator]())
    await right?.return?.()
    for (let i = 0; i < maxAheadChunks * 2; i++) expect((await left?.next())?.done).toBe(false)
    expect(puller.released).toBe(0)
    await left?.return?.()
    expect(puller.released).toBe(1)
    expect(await left?.next()).toEqual({ done: true, value: undefined })
  })

  it('unblocks a channel that waits for the other when that one stops', async () => {
    const [left, right] = splitPulled(endless(), pcm)
    const fast = left[Symbol.asyncIterator]()
    for (let i = 0; i < maxAheadChunks; i++) await fast.next()
    const waits = fast.next()
    await right[Symbol.asyncIterator]().return?.()
    expect((await waits).done).toBe(false)
  })

  it('returns an error to both, each after its audio, also when it is requested later', async () => {
    const broken = new Error('broken')
    const [left, right] = splitPulled(pullerOf([new Uint8Array(8)], broken), pcm)
    const iterator = left[Symbol.asyncIterator]()
    expect((await iterator.next()).value).toHaveLength(4)
    await expect(iterator.next()).rejects.toBe(broken)
    const other = right[Symbol.asyncIterator]()
    expect((await other.next()).value).toHaveLength(4)
    await expect(other.next()).rejects.toBe(broken)
  })
})
