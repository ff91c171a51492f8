import { from, lastValueFrom, of, toArray } from 'rxjs'
import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import { publisher } from '../../../src/nodes/core/endpoints.js'
import type { NodeItem } from '../../../src/nodes/core/node.js'
import { nodeContext } from '../node-context.js'

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }

const published = async (
  input: AudioFormat,
  output: Readonly<Record<string, unknown>> | undefined,
  items: readonly NodeItem[],
) => {
  const configured = publisher.configure({})
  if (either.isLeft(configured)) throw new Error('refused')
  const context = nodeContext({ inputs: { audio: input }, sessionFormat: pcm, audioOutput: output })
  const node = await configured.right.open(context)
  return lastValueFrom(node(from(items), context).pipe(toArray()))
}

const bytes = (items: readonly NodeItem[]): readonly number[] =>
  items.flatMap((item) => (item.type === 'audio' ? [...item.bytes] : []))
const audio = (...values: readonly number[]): NodeItem => ({ type: 'audio', bytes: new Uint8Array(values) })

describe('the publisher', () => {
  it('passes audio on unchanged if the client receives that format', async () => {
    const item = audio(1, 2, 3, 4)
    expect((await published(pcm, undefined, [item]))[0]).toBe(item)
  })

  it('sends audio in the format of Audio.Output, in any dialect, with events in between', async () => {
    const event: NodeItem = { type: 'event', event: { name: 'x' } }
    const items = await published(pcm, { Encoding: 'ulaw', 'channel-count': '2' }, [
      audio(0, 0, 0, 0),
      event,
      audio(0, 0),
    ])
    expect(items.map(({ type }) => type)).toEqual(['audio', 'event', 'audio'])
    expect(bytes(items)).toEqual(new Array(6).fill(0xff))
  })

  it("sends it in the format of the client's audio if Audio.Output is absent", async () => {
    expect(bytes(await published({ ...pcm, encoding: 'ulaw', channels: 2 }, undefined, [audio(0xff, 0xff)]))).toEqual([
      0, 0,
    ])
  })

  it('keeps the duration when the rate changes', async () => {
    const second = new Uint8Array(16_000)
    const items = await published(pcm, { SampleRate: 16_000 }, [{ type: 'audio', bytes: second }])
    expect(bytes(items)).toHaveLength(32_000)
  })

  it('rejects an invalid Audio.Output by the name of its field, and needs none without audio', async () => {
    await expect(published(pcm, { SampleRate: 5 }, [])).rejects.toMatchObject({
      code: 'invalid-field',
      message: expect.stringContaining('Audio.Output.SampleRate must be a whole number of Hz') as unknown,
    })
    const configured = publisher.configure({})
    if (either.isLeft(configured)) throw new Error('refused')
    const context = nodeContext({ inputs: {}, sessionFormat: pcm, audioOutput: { SampleRate: 5 } })
    const node = await configured.right.open(context)
    expect(await lastValueFrom(node(of(audio(1)), context))).toEqual(audio(1))
  })
})
