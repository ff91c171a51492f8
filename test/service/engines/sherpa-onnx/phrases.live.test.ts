import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeChannels } from '../../../../src/audio/codec.js'
import type { Engine, RecognizeSettings } from '../../../../src/service/engines/engine.js'
import type { PoolWorker } from '../../../../src/service/engines/pool/worker-pool.js'
import { withSegmentRetry } from '../../../../src/service/engines/segment-retry.js'
import { requirePhrases } from '../../../../src/service/engines/session-phrases.js'
import { createSherpaOnnx, inProcesses, sherpaOnnx } from '../../../../src/service/engines/sherpa-onnx/sherpa-onnx.js'
import { readRecording } from '../../../audio/read-recording.js'
import { aPartial, TestChannel } from '../../../contract/test-channel.js'
import { segmentParts } from '../recordings.js'
import { tinyModel, tinySherpaModel, workerPids } from './tiny-model.js'

const beam = {
  decodingMethod: 'modified_beam_search',
  modelingUnit: 'bpe',
  bpeVocab: 'bpe.vocab',
  hotwordsScore: 4,
}
const clubs = { phrases: ['clubs'] }
const others = { phrases: ['ten of', 'go forward'] }

/** The sentences of the sample call by its first channel. */
const sentences: Int16Array[] = []
let folder = ''
let engine: Engine
const workers: PoolWorker[] = []
beforeAll(async () => {
  folder = tinySherpaModel()
  const kind = createSherpaOnnx((settings) => (events) => {
    const worker = inProcesses(settings)(events)
    workers.push(worker)
    return worker
  })
  engine = await kind.open(tinyModel(folder, { ...beam, sessionPhrases: true }))
  const { bytes, format } = await readRecording('samples/call.wav')
  const [samples = new Int16Array(0)] = decodeChannels(bytes, format)
  for (const [startMs, endMs] of [
    [800, 3025],
    [6745, 8576],
    [14_542, 16_612],
  ] as const) {
    sentences.push(samples.slice(startMs * 8, endMs * 8))
  }
})
afterAll(async () => {
  await engine.close()
  rmSync(folder, { recursive: true })
})

const textOf = async (by: Engine, samples: Int16Array, settings: RecognizeSettings = {}): Promise<string> => {
  const channel = new TestChannel(by, settings).send(...segmentParts(samples)).complete()
  expect(await channel.ended()).toBe('complete')
  return channel.segments.map(({ text }) => text).join()
}
const textsOf = async (by: Engine, settings: RecognizeSettings = {}): Promise<readonly string[]> =>
  Promise.all(sentences.map((samples) => textOf(by, samples, settings)))

/** What a model with these hotwords of its own finds, which the package gives to its recognizer. */
const textsWithHotwords = async (hotwords: readonly string[]): Promise<readonly string[]> => {
  writeFileSync(join(folder, 'hotwords.txt'), hotwords.map((line) => `${line}\n`).join(''))
  const model = { ...beam, ...(hotwords.length > 0 && { hotwords: 'hotwords.txt' }) }
  const opened = await sherpaOnnx().open(tinyModel(folder, model))
  const texts = await textsOf(opened)
  await opened.close()
  return texts
}

const refusalOf = (of: Engine, ...phrases: readonly string[]): Promise<unknown> =>
  requirePhrases(of, phrases, 'phrases').then(
    () => 'taken',
    (error: unknown) => error,
  )

describe('phrases of a session with a model of sherpa-onnx', () => {
  it('are hotwords of this session alone, as the package finds them', async () => {
    const [plain, withClubs, withOthers] = await Promise.all([
      textsOf(engine),
      textsOf(engine, clubs),
      textsOf(engine, others),
    ])
    expect(plain).toEqual(await textsWithHotwords([]))
    expect(withClubs).toEqual(await textsWithHotwords(clubs.phrases))
    expect(withOthers).toEqual(await textsWithHotwords(others.phrases))
    expect(new Set([...plain, ...withClubs, ...withOthers]).size).toBe(9)
    expect(await textsOf(engine, { phrases: ['forward'] })).not.toEqual(plain)
    expect([await textsOf(engine, others), await textsOf(engine)]).toEqual([withOthers, plain])
  })

  it('are added to the hotwords of the model', async () => {
    const both = await textsWithHotwords([...clubs.phrases, ...others.phrases])
    writeFileSync(join(folder, 'hotwords.txt'), 'clubs\n')
    const opened = await sherpaOnnx().open(
      tinyModel(folder, { ...beam, sessionPhrases: true, hotwords: 'hotwords.txt' }),
    )
    expect(await textsOf(opened, others)).toEqual(both)
    expect(await textsOf(opened)).toEqual(await textsOf(engine, clubs))
    await opened.close()
  })

  it('are refused if a word cannot be written with the tokens of the model', async () => {
    expect(await refusalOf(engine, 'go forward', 'red clubs')).toBe('taken')
    expect(await refusalOf(engine, 'red clubs', 'go zebra', 'a zebra', 'warding')).toMatchObject({
      code: 'invalid-field',
      message:
        'phrases[1] has the word "zebra", which cannot be written with the tokens of the model. ' +
        'phrases[3] has the word "warding", which cannot be written with the tokens of the model.',
    })
  })

  it.each([-1.5, -2.5])(
    'are refused exactly if the library splits a word into others than tokens (%d)',
    async (score) => {
      const pieces = readFileSync(join(folder, 'bpe.vocab'), 'utf8')
      writeFileSync(join(folder, 'other.vocab'), `${pieces}\u2581forward\t${score}\n`)
      const opened = await sherpaOnnx().open(
        tinyModel(folder, { ...beam, sessionPhrases: true, bpeVocab: 'other.vocab' }),
      )
      const isTaken = (await refusalOf(opened, 'forward')) === 'taken'
      const texts = await textsOf(opened, { phrases: ['forward'] })
      expect(isTaken).toBe(score < -2)
      expect(texts).toEqual(await textsOf(engine, isTaken ? { phrases: ['forward'] } : {}))
      await opened.close()
    },
  )

  it('are refused by a model without "sessionPhrases"', async () => {
    const opened = await sherpaOnnx().open(tinyModel(folder, beam))
    expect(opened.capabilities.phrases).toBe(false)
    expect(await refusalOf(opened, 'clubs')).toMatchObject({ code: 'invalid-field' })
    await opened.close()
  })

  it('are there again when the process was killed', async () => {
    const started = workers.length
    const faults: unknown[] = []
    const retrying = withSegmentRetry(engine, { onFault: ({ code }) => faults.push(code) })
    const alone = await textsOf(engine, clubs)
    const channels = sentences.map((samples) =>
      new TestChannel(retrying, clubs).send(...segmentParts(samples).slice(0, -1)),
    )
    await Promise.all(channels.map((channel) => channel.until(aPartial)))
    await workers.at(-1)?.terminate()
    for (const channel of channels) channel.complete()
    for (const channel of channels) expect(await channel.ended()).toBe('complete')
    expect(channels.map(({ segments }) => segments.map(({ text }) => text).join())).toEqual(alone)
    expect([workers.length - started, faults]).toEqual([1, ['engine-failed', 'engine-failed', 'engine-failed']])
  })

  it('are refused with the reason if the files do not load', async () => {
    const spoiled = tinySherpaModel({ spoil: () => Buffer.from('no model') })
    await expect(sherpaOnnx().open(tinyModel(spoiled, { ...beam, sessionPhrases: true }))).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringContaining('sherpa-onnx does not load its files') as unknown,
    })
    rmSync(spoiled, { recursive: true })
  })

  it.skipIf(process.platform !== 'linux')('take no memory after their segments', async () => {
    const [pid = NaN] = workerPids()
    const words = ['ten', 'of', 'clubs', 'go', 'forward', 'red', 'a']
    const phrases = Array.from({ length: 100 }, (_, index) =>
      Array.from({ length: 10 }, (__, at) => words[(index * (at + 1) + (index >> at)) % words.length]).join(' '),
    )
    const samples = (sentences[0] ?? new Int16Array(0)).slice(0, 1600)
    const decide = (): Promise<string> => textOf(engine, samples, { phrases })
    const abort = async (): Promise<void> => {
      const channel = new TestChannel(engine, { phrases }).send(...segmentParts(samples).slice(0, -1))
      await channel.until((output) => output.length > 0)
      channel.unsubscribe()
    }
    for (let round = 0; round < 50; round += 1) await Promise.all([decide(), abort()])
    const before = residentBytes(pid)
    for (let round = 0; round < 200; round += 1) await Promise.all([decide(), abort()])
    expect(residentBytes(pid) - before).toBeLessThan(20_000_000)
  })
})

const residentBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
