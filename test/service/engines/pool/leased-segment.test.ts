import { describe, expect, it } from 'vitest'
import { ResourcePool } from '../../../../src/service/engines/pool/resource-pool.js'
import { LeasedSegment, type SegmentDecoder } from '../../../../src/service/engines/pool/leased-segment.js'

interface Fake {
  readonly did: string[]
  readonly decoder: SegmentDecoder
}

const fakeDecoder = (fails?: 'begin' | 'process' | 'end'): Fake => {
  const did: string[] = []
  const act = (name: 'begin' | 'process' | 'end'): void => {
    did.push(name)
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
    end: async (_startMs, _endMs, isCancelled) => {
      act('end')
      await new Promise(setImmediate)
      if (isCancelled()) did.push('cancelled')
      return []
    },
    cancel: () => void did.push('cancel'),
  }
  return { did, decoder }
}

const segmentOn = (decoders: ResourcePool<SegmentDecoder>) => {
  const said: string[] = []
  const segment = new LeasedSegment(0, decoders, {
    progress: (count, partial) => said.push(`taken ${count} ${partial ?? ''}`),
    decided: () => said.push('decided'),
    failed: () => said.push('failed'),
  })
  return { segment, said }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}
const decodersOf = (...fakes: readonly Fake[]): ResourcePool<SegmentDecoder> => {
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
  it('does what it is told in order and gives its decoder to the next', async () => {
    const fake = fakeDecoder()
    const decoders = decodersOf(fake)
    const [one, other] = [segmentOn(decoders), segmentOn(decoders)]
    for (const { segment } of [one, other]) {
      segment.write(new Int16Array(800))
      segment.close(100)
    }
    await settle()
    expect(one.said).toEqual(['taken 800 800', 'decided'])
    expect(other.said).toEqual(['taken 800 800', 'decided'])
    expect(fake.did).toEqual(['begin', 'process', 'end', 'begin', 'process', 'end'])
  })

  it('says nothing after an abort and gives its decoder back', async () => {
    const fake = fakeDecoder()
    const decoders = decodersOf(fake)
    const { segment, said } = segmentOn(decoders)
    segment.write(new Int16Array(800))
    segment.abort()
    await settle()
    expect(said).toEqual([])
    expect(fake.did).toEqual(['begin', 'cancel'])
    expect(await decoders.acquire()).toBe(fake.decoder)
  })

  it('is cancelled while it is decided', async () => {
    const fake = fakeDecoder()
    const decoders = decodersOf(fake)
    const { segment, said } = segmentOn(decoders)
    segment.close(100)
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
    expect(fake.did).toEqual(['begin', 'end'])
    segment.abort()
    await settle()
    expect(said).toEqual([])
    expect(fake.did).toEqual(['begin', 'end', 'cancelled'])
    expect(await decoders.acquire()).toBe(fake.decoder)
  })

  it.each(['begin', 'process', 'end'] as const)(
    'fails once when its decoder throws in %s, which is not used again',
    async (step) => {
      const [broken, sound] = [fakeDecoder(step), fakeDecoder()]
      const decoders = decodersOf(broken, sound)
      const [one, other] = [segmentOn(decoders), segmentOn(decoders)]
      for (const { segment } of [one, other]) {
        segment.write(new Int16Array(1))
        segment.close(1)
      }
      await settle()
      expect(one.said.filter((said) => said === 'failed')).toEqual(['failed'])
      expect(one.said.at(-1)).toBe('failed')
      expect(other.said).toEqual(['taken 1 1', 'decided'])
    },
  )
})

describe('ResourcePool', () => {
  it('makes no more than its limit and serves those who wait in order', async () => {
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
})
