import { describe, expect, it } from 'vitest'
import { bytesOf, samplesOf } from '../../../../../src/audio/pcm.js'
import { createResampler } from '../../../src/recognition/resampler.js'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { resample } from '../../../src/nodes/audio/conversion.js'
import { asyncMarbles } from '../../../../service/test/async-marbles.js'
import { event, openNode, testFixedSet } from '../fixed-set.js'
import { nodeContext } from '../node-context.js'
import { pcm } from '../node-run.js'

const samples = Int16Array.from({ length: 320 }, (_none, index) => Math.round(8000 * Math.sin(index / 5)))
const item = pcm(samples)

/** The output of the resampler for each of these chunks, and at the end. */
const resampled = async (pieces: number): Promise<readonly NodeItem[]> => {
  const resampler = await createResampler({ fromHz: 8000, toHz: 16_000, channels: 1 })
  const parts = Array.from({ length: pieces }, () => resampler.process(samples).slice())
  const all = [...parts, resampler.flush().slice()]
  resampler.free()
  return all.filter(({ length }) => length > 0).map((part) => ({ type: 'audio', bytes: bytesOf(part) }))
}
const present = (item: NodeItem | undefined): NodeItem[] => (item === undefined ? [] : [item])

describe('resample in virtual time', async () => {
  const [first, lastOfOne] = await resampled(1)
  const [, second, lastOfTwo] = await resampled(2)

  testFixedSet({
    open: () => openNode(resample, { toHz: 16_000 }),
    item,
    first: present(first),
    second: present(second),
    end: [present(lastOfOne), present(lastOfTwo), []],
    opensLater: true,
  })

  it('outputs samples for each of these chunks, twice as many in total', () => {
    const lengths = [first, second, lastOfTwo].map((value) =>
      value?.type === 'audio' ? samplesOf(value.bytes).length : 0,
    )
    expect(lengths.every((length) => length > 0)).toBe(true)
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(1280)
  })

  it('passes events on unchanged, and queues audio that arrives before it has opened', async () => {
    const node = await openNode(resample, { toHz: 16_000 })
    await asyncMarbles(({ cold, expectObservable, scheduler }) => {
      const source$ = cold<NodeItem>('(exx)---|', { e: event('other'), x: item })
      const seen = expectObservable(node(source$, nodeContext({ scheduler })))
      return () => {
        seen.toBe('(ab)----(c|)', { a: first, b: second, c: lastOfTwo })
      }
    })
  })
})
