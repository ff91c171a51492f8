import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeChannels } from '../../../../src/audio/codec.js'
import type { Engine } from '../../src/engine.js'
import type { PoolWorker } from '../../src/pool/worker-pool.js'
import { withSegmentRetry } from '../../src/segment-retry.js'
import { createSherpaOnnx, inProcesses, sherpaOnnx } from '../../src/sherpa-onnx/sherpa-onnx.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { aPartial, TestChannel } from '../contract/test-channel.js'
import { lineNoise, segmentParts } from '../recordings.js'
import { tinyModel, tinySherpaModel, workerPids } from './tiny-model.js'

/** Sentences of both channels of the sample call. */
const sentences: Int16Array[] = []
const turns = [
  [0, 800, 3025],
  [1, 3525, 6295],
  [0, 6745, 8576],
  [1, 9176, 11_361],
  [0, 14_542, 16_612],
  [1, 21_155, 24_311],
] as const
const sentence = (index: number): Int16Array => sentences[index] ?? new Int16Array(0)
let folder = ''
let engine: Engine
beforeAll(async () => {
  folder = tinySherpaModel()
  engine = await sherpaOnnx().open(tinyModel(folder))
  const { bytes, format } = await readRecording('samples/call.wav')
  const channels = decodeChannels(bytes, format)
  for (const [channel, startMs, endMs] of turns) {
    sentences.push(channels[channel]?.slice(startMs * 8, endMs * 8) ?? new Int16Array(0))
  }
})
afterAll(async () => {
  await engine.close()
  rmSync(folder, { recursive: true })
})

/** A segment in a channel of its own. */
const heard = async (by: Engine, samples: Int16Array, chunkSamples = 160): Promise<TestChannel> => {
  const channel = new TestChannel(by).send(...segmentParts(samples, 0, chunkSamples)).complete()
  expect(await channel.ended()).toBe('complete')
  return channel
}
const textOf = async (by: Engine, samples: Int16Array, chunkSamples?: number): Promise<string> =>
  (await heard(by, samples, chunkSamples)).segments.map(({ text }) => text).join()

describe('a streaming model of sherpa-onnx with random weights', () => {
  it('has a text that depends on the audio, and not on the length of its chunks', async () => {
    const [first, second] = [await textOf(engine, sentence(0)), await textOf(engine, sentence(1))]
    expect(first).toMatch(/\w \w/)
    expect(second).not.toBe(first)
    for (const chunkSamples of [37, 1600, 24_000]) expect(await textOf(engine, sentence(0), chunkSamples)).toBe(first)
  })

  it('has partials that grow, and a segment that ends with what the flush adds', async () => {
    const { partials, segments } = await heard(engine, sentence(1))
    const texts = [...partials.map(({ text }) => text), ...segments.map(({ text }) => text)]
    expect(partials.length).toBeGreaterThan(3)
    for (const [at, text] of texts.entries()) expect(text.startsWith(texts[at - 1] ?? '')).toBe(true)
    expect(texts.at(-1)?.length).toBeGreaterThan(texts.at(-2)?.length ?? 0)
  })

  it('has words with times within the segment, in order, and probabilities', async () => {
    const [segment] = (await heard(engine, sentence(1))).segments
    expect(segment?.words.map(({ text }) => text).join(' ')).toBe(segment?.text)
    const times = segment?.words.flatMap(({ startMs, endMs }) => [startMs, endMs]) ?? []
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(-1)).toBeLessThanOrEqual(segment?.endMs ?? 0)
    for (const { confidence } of segment?.words ?? []) expect(confidence).toBeGreaterThan(0)
  })

  it('keeps the states of segments apart that are decoded at the same time', async () => {
    const sounds = sentences
    const alone: string[] = []
    for (const samples of sounds) alone.push(await textOf(engine, samples))
    expect(new Set(alone).size).toBe(sounds.length)
    expect(await Promise.all(sounds.map((samples) => textOf(engine, samples)))).toEqual(alone)
  })

  it('reads segments again after its process was killed, with the same texts', async () => {
    const workers: PoolWorker[] = []
    const kind = createSherpaOnnx((settings) => (events) => {
      const worker = inProcesses(settings)(events)
      workers.push(worker)
      return worker
    })
    const faults: unknown[] = []
    const opened = await kind.open(tinyModel(folder))
    const retrying = withSegmentRetry(opened, { onFault: ({ code }) => faults.push(code) })
    const sounds = [0, 1, 2].map((index) => sentence(index))
    const alone = await Promise.all(sounds.map((samples) => textOf(retrying, samples)))
    const channels = sounds.map((samples) => new TestChannel(retrying).send(...segmentParts(samples).slice(0, -1)))
    await Promise.all(channels.map((channel) => channel.until(aPartial)))
    await workers[0]?.terminate()
    for (const channel of channels) channel.complete()
    for (const channel of channels) expect(await channel.ended()).toBe('complete')
    expect(channels.map(({ segments }) => segments.map(({ text }) => text).join())).toEqual(alone)
    expect([workers.length, faults]).toEqual([2, ['engine-failed', 'engine-failed', 'engine-failed']])
    await opened.close()
  })

  it.skipIf(process.platform !== 'linux')('goes on after signals to all processes of its group', async () => {
    const others = new Set(workerPids())
    const opened = await sherpaOnnx().open(tinyModel(folder))
    const own = workerPids().filter((pid) => !others.has(pid))
    expect(own).toHaveLength(1)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(own[0] ?? NaN, signal)
    expect(await textOf(opened, sentence(0))).toMatch(/\w \w/)
    expect(workerPids().filter((pid) => !others.has(pid))).toEqual(own)
    await opened.close()
  })

  it('survives an error of the native library while it decodes: only the segment that caused it fails', async () => {
    const fragile = tinySherpaModel({ failsAbove: 0 })
    const opened = await sherpaOnnx().open(tinyModel(fragile))
    expect(await textOf(opened, lineNoise(16_000))).toMatch(/\w/)
    const channel = new TestChannel(opened).send(...segmentParts(sentence(0))).complete()
    expect(await channel.ended()).toMatchObject({ code: 'engine-failed' })
    expect(await textOf(opened, lineNoise(16_000))).toMatch(/\w/)
    await opened.close()
    rmSync(fragile, { recursive: true })
  })

  it('prefers hotwords', async () => {
    const beam = { decodingMethod: 'modified_beam_search', modelingUnit: 'bpe', bpeVocab: 'bpe.vocab' }
    writeFileSync(join(folder, 'hotwords.txt'), 'clubs\n')
    const countOf = async (change: Readonly<Record<string, unknown>>): Promise<number> => {
      const opened = await sherpaOnnx().open(tinyModel(folder, { ...beam, ...change }))
      const texts = await Promise.all([0, 1, 2, 3].map((index) => textOf(opened, sentence(index))))
      await opened.close()
      return texts.join(' ').split('clubs').length - 1
    }
    const without = await countOf({})
    expect(await countOf({ hotwords: 'hotwords.txt', hotwordsScore: 4 })).toBeGreaterThan(without)
  })

  it.each([
    ['are cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['are of another model', () => Buffer.from('no model')],
  ])('is refused if its files %s', async (_what, spoil) => {
    const spoiled = tinySherpaModel({ spoil })
    await expect(sherpaOnnx().open(tinyModel(spoiled))).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringContaining('decoder-epoch-1.onnx is not a whole file of ONNX') as unknown,
    })
    rmSync(spoiled, { recursive: true })
  })
})
