import { describe, expect, it } from 'vitest'
import { ResourcePool } from '../../src/pool/resource-pool.js'
import type { RecognizeSettings } from '../../src/engine.js'
import { LeasedSegment, type SegmentDecoder } from '../../src/pool/leased-segment.js'

interface Fake {
  readonly calls: string[]
  readonly decoder: SegmentDecoder
}

const fakeDecoder = (fails?: 'begin' | 'process' | 'end'): Fake => {
  const calls: string[] = []
  const act = (name: 'begin' | 'process' | 'end'): void => {
    calls.push(name)
    if (fails === name) throw new Error('broken')
  }
  const decoder: SegmentDecoder = {
    begin: async () => {
      await Promise.resolve()
      act('begin')
    },
    process: (samples) => {
      act('process')
      return `${samples.length}`
    },
    end: async (_span, isCancelled) => {
      act('end')
      await new Promise(setImmediate)
      if (isCancelled()) calls.push('cancelled')
      return { words: [] }
    },
    cancel: () => void calls.push('cancel'),
  }
  return { calls, decoder }
}

const segmentOn = (decoders: ResourcePool<SegmentDecoder>) => {
  const emitted: string[] = []
  const segment = new LeasedSegment(0, decoders, {
    progress: (count, partial) => emitted.push(`taken ${count} ${partial ?? ''}`),
    checked: (isComplete) => emitted.push(`checked ${isComplete}`),
    decided: () => emitted.push('decided'),
    failed: () => emitted.push('failed'),
  })
  return { segment, emitted }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}
const poolOf = (...fakes: readonly Fake[]): ResourcePool<SegmentDecoder> => {
  let next = 0
  return new ResourcePool<SegmentDecoder>({
    max: 1,
    create: () => {
      const fake = fakes[next]
      next += 1
      return fake === undefined ? Promise.reject(new Error('none left')) : Promise.resolve(fake.decoder)
    },
  })
}

describe('LeasedSegment', () => {
  it('performs its steps in order, then releases its decoder for the next segment', async () => {
    const fake = fakeDecoder()
    const decoders = poolOf(fake)
    const [first, second] = [segmentOn(decoders), segmentOn(decoders)]
    for (const { segment } of [first, second]) {
      segment.write(new Int16Array(800))
      segment.close(100)
    }
    await settle()
    expect(first.emitted).toEqual(['taken 800 800', 'decided'])
    expect(second.emitted).toEqual(['taken 800 800', 'decided'])
    expect(fake.calls).toEqual(['begin', 'process', 'end', 'begin', 'process', 'end'])
  })

  it('answers a check after the audio before it, as the decoder says', async () => {
    const fake = fakeDecoder()
    const { segment, emitted } = segmentOn(poolOf(fake))
    segment.check()
    Object.assign(fake.decoder, { isComplete: () => fake.calls.includes('process') })
    segment.write(new Int16Array(800))
    segment.check()
    await settle()
    expect(emitted).toEqual(['checked false', 'taken 800 800', 'checked true'])
  })

  it('emits nothing after an abort, and releases its decoder', async () => {
    const fake = fakeDecoder()
    const decoders = poolOf(fake)
    const { segment, emitted } = segmentOn(decoders)
    segment.write(new Int16Array(800))
    segment.abort()
    await settle()
    expect(emitted).toEqual([])
    expect(fake.calls).toEqual(['begin', 'cancel'])
    expect(await decoders.acquire()).toBe(fake.decoder)
  })

  it('can be aborted while it is decided', async () => {
    const fake = fakeDecoder()
    const decoders = poolOf(fake)
    const { segment, emitted } = segmentOn(decoders)
    segment.close(100)
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
    expect(fake.calls).toEqual(['begin', 'end'])
    segment.abort()
    await settle()
    expect(emitted).toEqual([])
    expect(fake.calls).toEqual(['begin', 'end', 'cancelled'])
    expect(await decoders.acquire()).toBe(fake.decoder)
  })

  it.each(['begin', 'process', 'end'] as const)(
    'fails once if its decoder throws in %s, and the decoder is not used again',
    async (step) => {
      const [broken, sound] = [fakeDecoder(step), fakeDecoder()]
      const decoders = poolOf(broken, sound)
      const [first, second] = [segmentOn(decoders), segmentOn(decoders)]
      for (const { segment } of [first, second]) {
        segment.write(new Int16Array(1))
        segment.close(1)
      }
      await settle()
      expect(first.emitted.filter((emitted) => emitted === 'failed')).toEqual(['failed'])
      expect(first.emitted.at(-1)).toBe('failed')
      expect(second.emitted).toEqual(['taken 1 1', 'decided'])
    },
  )
})

describe('a segment with settings', () => {
  it('prefers a decoder that is ready for them', async () => {
    const decoders = new ResourcePool<SegmentDecoder>({ max: 3, create: () => Promise.reject(new Error('none')) })
    const fakes = ['one', 'two', 'one'].map((phrase) => {
      const fake = fakeDecoder()
      return {
        ...fake,
        decoder: { ...fake.decoder, isReadyFor: ({ phrases }: RecognizeSettings) => phrases?.[0] === phrase },
      }
    })
    for (const { decoder } of fakes) decoders.add(decoder)
    const nothing = (): void => undefined
    const listener = { progress: nothing, checked: nothing, decided: nothing, failed: nothing }
    for (const phrase of ['two', 'two']) new LeasedSegment(0, decoders, listener, { phrases: [phrase] })
    await settle()
    expect(fakes.map(({ calls }) => calls)).toEqual([['begin'], ['begin'], []])
  })
})

describe('ResourcePool', () => {
  it('creates up to its maximum, and serves those that wait in order', async () => {
    let made = 0
    const decoders = new ResourcePool({ max: 2, create: () => Promise.resolve((made += 1)) })
    const [first, second] = [await decoders.acquire(), await decoders.acquire()]
    const taken: string[] = []
    void decoders.acquire().then((item) => taken.push(`third ${item}`))
    void decoders.acquire().then((item) => taken.push(`fourth ${item}`))
    await settle()
    expect([first, second, made, taken]).toEqual([1, 2, 2, []])
    decoders.release(second)
    decoders.discard(first)
    await settle()
    expect(taken).toEqual(['third 2', 'fourth 3'])
  })

  it('gives the preferred one of those that are free, and otherwise the one that was free for longest', async () => {
    const free = new ResourcePool({ max: 3, create: () => Promise.resolve('new') })
    for (const name of ['red', 'green', 'blue']) free.add(name)
    expect(await free.acquire(undefined, (name) => name === 'green')).toBe('green')
    expect(await free.acquire(undefined, (name) => name === 'green')).toBe('red')
    free.release('green')
    expect(await free.acquire()).toBe('green')
    expect(await free.acquire()).toBe('blue')
  })
})
