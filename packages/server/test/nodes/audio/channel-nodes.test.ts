import { either } from 'fp-ts'
import { lastValueFrom, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { decodeSamples, encodeSamples } from '../../../../../src/audio/codec.js'
import type { AudioFormat, Encoding } from '../../../../../src/audio/format.js'
import { channelMix, channelSplit, downmix } from '../../../src/nodes/audio/stereo.js'
import type { AnyNodeDefinition, NodeItem } from '../../../src/nodes/core/node.js'
import { nodeContext } from '../node-context.js'
import { brief, bytesFrom, configured, pcm, runOver } from '../node-run.js'

const pcmStereo: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 2 }
const pcmMono: AudioFormat = { ...pcmStereo, channels: 1 }
const contextOf = (format: AudioFormat) => nodeContext({ inputs: { audio: format, left: format, right: format } })

const outputOf = (definition: AnyNodeDefinition, options: unknown, format: AudioFormat, items: readonly NodeItem[]) =>
  lastValueFrom(runOver(definition, options, contextOf(format), items).pipe(toArray()))

describe('channel-split', () => {
  it('splits the frames of every encoding, however they are divided into messages', async () => {
    for (const encoding of ['pcm', 'ulaw', 'alaw'] satisfies readonly Encoding[]) {
      const frames = encodeSamples(Int16Array.from([100, -9000, 200, -8000, 300, -7000]), encoding)
      const size = frames.length / 3
      const items = [frames.subarray(0, size), new Uint8Array(0), frames.subarray(size)].map((bytes): NodeItem => ({
        type: 'audio',
        bytes,
      }))
      const out = await outputOf(channelSplit, {}, { ...pcmStereo, encoding }, items)
      const coded = (...samples: readonly number[]) =>
        decodeSamples(encodeSamples(Int16Array.from(samples), encoding), encoding)
      expect(decodeSamples(bytesFrom(out, 'left'), encoding)).toEqual(coded(100, 200, 300))
      expect(decodeSamples(bytesFrom(out, 'right'), encoding)).toEqual(coded(-9000, -8000, -7000))
    }
  })

  it('outputs two mono streams, and rejects mono input', () => {
    const { formats } = configured(channelSplit)
    expect(formats({ audio: pcmStereo })).toEqual(either.right({ left: pcmMono, right: pcmMono }))
    expect(formats({ audio: pcmMono })).toMatchObject({ left: expect.stringContaining('stereo') as unknown })
  })
})

describe('downmix', () => {
  it('mixes half of each side by default, and stays within full scale', async () => {
    const frames = pcm([100, 300, -32_768, -32_768, 32_767, 32_767])
    expect((await outputOf(downmix, {}, pcmStereo, [frames])).map(brief)).toEqual(['200 -32768 32767'])
    const weighed = await outputOf(downmix, { leftWeight: 1, rightWeight: 2 }, pcmStereo, [frames])
    expect(weighed.map(brief)).toEqual(['700 -32768 32767'])
    expect(configured(downmix).formats({ audio: pcmStereo })).toEqual(either.right({ audio: pcmMono }))
  })
})

describe('channel-mix', () => {
  const left = (...samples: readonly number[]) => pcm(samples, 'left')
  const right = (...samples: readonly number[]) => pcm(samples, 'right')

  it('combines matching samples, whichever side arrives first', async () => {
    const out = await outputOf(channelMix, {}, pcmMono, [left(1, 2, 3), right(-1), right(-2, -3, -4), left(4)])
    expect(out.map(brief)).toEqual(['1 -1', '2 -2 3 -3', '4 -4'])
  })

  it('mixes to one channel by weight, half of each by default', async () => {
    const sides = [left(1000, 32_767), right(3000, 32_767)]
    expect((await outputOf(channelMix, { to: 'mono' }, pcmMono, sides)).map(brief)).toEqual(['2000 32767'])
    const weighed = { to: 'mono', leftWeight: 1, rightWeight: 1 }
    expect((await outputOf(channelMix, weighed, pcmMono, sides)).map(brief)).toEqual(['4000 32767'])
  })

  it('uses silence for a side that has ended', async () => {
    const out = await outputOf(channelMix, {}, pcmMono, [left(1, 2, 3), right(9)])
    expect(out.map(brief)).toEqual(['1 9', '2 0 3 0'])
  })

  it('limits its wait: inserts silence, drops late audio, and reports both', async () => {
    const [long, short] = [new Array<number>(400).fill(7), new Array<number>(300).fill(9)]
    const out = await outputOf(channelMix, { maxWaitMs: 20 }, pcmMono, [left(...long), right(...short), left(7)])
    const frames = decodeSamples(bytesFrom(out), 'pcm')
    expect(frames).toHaveLength(2 * 401)
    const rightSide = frames.filter((_sample, index) => index % 2 === 1)
    // 160 samples may wait, so the first 240 were sent without the right side, and its first 240 arrived too late.
    expect([...rightSide]).toEqual([
      ...Array<number>(240).fill(0),
      ...Array<number>(60).fill(9),
      ...Array<number>(101).fill(0),
    ])
    expect(out.filter(({ type }) => type === 'event')).toEqual([
      { type: 'event', event: { name: 'Audio Late', channel: 1, data: { LostMsec: 30 } } },
    ])
  })

  it('reports late audio once a second, with all that was lost', async () => {
    const lag = Array.from({ length: 30 }, () => [
      left(...Array<number>(800).fill(1)),
      right(...Array<number>(80).fill(1)),
    ])
    const out = await outputOf(channelMix, { maxWaitMs: 20 }, pcmMono, lag.flat())
    const losses = out.flatMap((item) =>
      item.type === 'event' ? [item.event.data as { readonly LostMsec: number }] : [],
    )
    expect(losses.length).toBeGreaterThan(1)
    expect(losses.length).toBeLessThan(6)
    expect(losses.reduce((sum, { LostMsec }) => sum + LostMsec, 0)).toBeGreaterThan(280)
  })

  it('accepts each side in its own encoding and outputs that of the left', async () => {
    const mixed = { left: { ...pcmMono, encoding: 'ulaw' }, right: pcmMono } as const
    const context = nodeContext({ inputs: mixed })
    const coded = encodeSamples(Int16Array.of(1000), 'ulaw')
    const items: readonly NodeItem[] = [{ type: 'audio', port: 'left', bytes: coded }, right(1000)]
    const out = await lastValueFrom(runOver(channelMix, {}, context, items).pipe(toArray()))
    expect(bytesFrom(out)).toEqual(encodeSamples(Int16Array.of(1000, 1000), 'ulaw'))
    expect(configured(channelMix).formats(mixed)).toEqual(either.right({ audio: { ...mixed.left, channels: 2 } }))
  })

  it('rejects stereo and different rates', () => {
    const { formats } = configured(channelMix)
    expect(formats({ left: pcmStereo, right: pcmMono })).toMatchObject({ _tag: 'Left' })
    expect(formats({ left: pcmMono, right: { ...pcmMono, sampleRateHz: 16_000 } })).toMatchObject({
      left: expect.stringContaining('8000 and 16000 Hz') as unknown,
    })
  })
})
