import { describe, expect, it } from 'vitest'
import { Shelf } from '../../../../src/service/engines/pool/resource-pool.js'
import { LentSegment, type Decoding } from '../../../../src/service/engines/pool/leased-segment.js'

interface Fake {
  readonly did: string[]
  readonly decoder: Decoding
}

const fakeDecoder = (fails?: 'begin' | 'hear' | 'end'): Fake => {
  const did: string[] = []
  const act = (name: 'begin' | 'hear' | 'end'): void => {
    did.push(name)
    if (fails === name) throw new Error('broken')
  }
  const decoder: Decoding = {
    begin: async () => {
      await Promise.resolve()
      act('begin')
    },
    hear: (samples) => {
      act('hear')
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

const segmentOn = (shelf: Shelf<Decoding>) => {
  const said: string[] = []
  const segment = new LentSegment(0, shelf, {
    taken: (count, partial) => said.push(`taken ${count} ${partial ?? ''}`),
    decided: () => said.push('decided'),
    failed: () => said.push('failed'),
  })
  return { segment, said }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}
const shelfOf = (...fakes: readonly Fake[]): Shelf<Decoding> => {
  let next = 0
  return new Shelf<Decoding>(1, () => {
    const fake = fakes[next]
    next += 1
    return fake === undefined ? Promise.reject(new Error('none left')) : Promise.resolve(fake.decoder)
  })
}

describe('LentSegment', () => {
  it('does what it is told in order and gives its decoder to the next', async () => {
    const fake = fakeDecoder()
    const shelf = shelfOf(fake)
    const [one, other] = [segmentOn(shelf), segmentOn(shelf)]
    for (const { segment } of [one, other]) {
      segment.hear(new Int16Array(800))
      segment.close(100)
    }
    await settle()
    expect(one.said).toEqual(['taken 800 800', 'decided'])
    expect(other.said).toEqual(['taken 800 800', 'decided'])
    expect(fake.did).toEqual(['begin', 'hear', 'end', 'begin', 'hear', 'end'])
  })

  it('says nothing after an abort and gives its decoder back', async () => {
    const fake = fakeDecoder()
    const shelf = shelfOf(fake)
    const { segment, said } = segmentOn(shelf)
    segment.hear(new Int16Array(800))
    segment.abort()
    await settle()
    expect(said).toEqual([])
    expect(fake.did).toEqual(['begin', 'cancel'])
    expect(await shelf.take()).toBe(fake.decoder)
  })

  it('is cancelled while it is decided', async () => {
    const fake = fakeDecoder()
    const shelf = shelfOf(fake)
    const { segment, said } = segmentOn(shelf)
    segment.close(100)
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
    expect(fake.did).toEqual(['begin', 'end'])
    segment.abort()
    await settle()
    expect(said).toEqual([])
    expect(fake.did).toEqual(['begin', 'end', 'cancelled'])
    expect(await shelf.take()).toBe(fake.decoder)
  })

  it.each(['begin', 'hear', 'end'] as const)(
    'fails once when its decoder throws in %s, which is not used again',
    async (step) => {
      const [broken, sound] = [fakeDecoder(step), fakeDecoder()]
      const shelf = shelfOf(broken, sound)
      const [one, other] = [segmentOn(shelf), segmentOn(shelf)]
      for (const { segment } of [one, other]) {
        segment.hear(new Int16Array(1))
        segment.close(1)
      }
      await settle()
      expect(one.said.filter((said) => said === 'failed')).toEqual(['failed'])
      expect(one.said.at(-1)).toBe('failed')
      expect(other.said).toEqual(['taken 1 1', 'decided'])
    },
  )
})

describe('Shelf', () => {
  it('makes no more than its limit and serves those who wait in order', async () => {
    let made = 0
    const shelf = new Shelf(2, () => Promise.resolve((made += 1)))
    const [first, second] = [await shelf.take(), await shelf.take()]
    const taken: string[] = []
    void shelf.take().then((item) => taken.push(`third ${item}`))
    void shelf.take().then((item) => taken.push(`fourth ${item}`))
    await settle()
    expect([first, second, made, taken]).toEqual([1, 2, 2, []])
    shelf.give(second)
    shelf.discard()
    await settle()
    expect(taken).toEqual(['third 2', 'fourth 3'])
  })
})
