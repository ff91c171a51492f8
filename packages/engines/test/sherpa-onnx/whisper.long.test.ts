import { closeSync, cpSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withSegmentRetry } from '../../src/segment-retry.js'
import type { PoolWorker } from '../../src/pool/worker-pool.js'
import { createSherpaOnnx, inProcesses, sherpaOnnx } from '../../src/sherpa-onnx/sherpa-onnx.js'
import { TestChannel } from '../contract/test-channel.js'
import { openReader, spoken, whisperModel } from './whisper-model.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

type Opened = Awaited<ReturnType<typeof openReader>>
const rateHz = 16_000
let opened: Opened
let greeting: Int16Array
beforeAll(async () => {
  greeting = await spoken(0, 600, 3_225)
  opened = await openReader(whisperModel())
})
afterAll(() => opened.reader.close())

const help = /how can i help you/i

/** A sound of a voice: pulses of 120 Hz through two resonances. */
const vowel = (seconds: number): Int16Array => {
  const sound = Int16Array.from({ length: seconds * rateHz }, (_, at) => {
    const phase = (at % (rateHz / 120)) / rateHz
    const formant = (hz: number, width: number): number => Math.exp(-width * phase) * Math.sin(2 * Math.PI * hz * phase)
    return 9_000 * (formant(700, 400) + 0.6 * formant(1_200, 600))
  })
  return sound
}

describe('odd audio for the embedded model', () => {
  it.each<readonly [string, () => Int16Array, RegExp]>([
    ['none', () => new Int16Array(0), /^$/],
    ['one sample', () => Int16Array.of(1), /^.{0,40}$/],
    ['50 ms', () => greeting.slice(0, 800), /^.{0,40}$/],
    ['clipped speech', () => greeting.map((sample) => Math.max(Math.min(sample * 8, 32_767), -32_768)), /help you/i],
    ['speech on a constant', () => greeting.map((sample) => sample / 2 + 12_000), help],
    ['a constant', () => new Int16Array(2 * rateHz).fill(20_000), /^.{0,60}$/],
    ['a vowel of 28 s', () => vowel(28), /^/],
  ])('has a reading of %s, and goes on', async (_what, sound, text) => {
    expect((await opened.read(sound())).text).toMatch(text)
    expect((await opened.read(greeting)).text).toMatch(help)
    expect(opened.workers).toHaveLength(1)
  })

  it('has a result of a vowel of 60 s, which is longer than it reads at once', async () => {
    const engine = await sherpaOnnx().open(whisperModel())
    const channel = new TestChannel(engine)
      .send({ type: 'open', startMs: 0 }, { type: 'audio', samples: vowel(60) }, { type: 'close', endMs: 60_000 })
      .complete()
    expect(await channel.ended()).toBe('complete')
    await engine.close()
  })

  it('reads what was aborted to its end, and then the next', async () => {
    const abort = new AbortController()
    const reading = opened.reader.read({ samples: greeting, purpose: 'final' }, abort.signal)
    abort.abort()
    await expect(reading).rejects.toMatchObject({ code: 'engine-failed', retryable: false })
    await expect(opened.reader.read({ samples: greeting, purpose: 'final' }, abort.signal)).rejects.toThrow(
      /not needed/,
    )
    expect((await opened.read(greeting)).text).toMatch(help)
  })
})

describe('files of the embedded model that are spoiled', () => {
  const folder = temporaryFolder()
  beforeAll(() => {
    cpSync(whisperModel().folder, folder, { recursive: true })
  })

  it('are refused by name if the decoder is cut off, at any place', async () => {
    const file = openSync(join(folder, 'tiny.en-decoder.int8.onnx'), 'r+')
    for (const bytes of [30_000_000, 1_000_000, 100]) {
      ftruncateSync(file, bytes)
      await expect(sherpaOnnx().open(whisperModel(folder))).rejects.toMatchObject({
        code: 'invalid-model',
        message: expect.stringMatching(/tiny\.en-decoder\.int8\.onnx is not a whole file of ONNX/) as unknown,
      })
    }
    closeSync(file)
    cpSync(whisperModel().folder, folder, { recursive: true })
  })

  it('are refused if the tokens are of another model', async () => {
    const tokens = join(folder, 'tiny.en-tokens.txt')
    writeFileSync(tokens, `${await readFile(tokens, 'utf8')}ICgn 50256\n`.repeat(2))
    await expect(sherpaOnnx().open(whisperModel(folder))).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(/tiny\.en-tokens\.txt has \d+ tokens, and the model has 50256/) as unknown,
    })
    cpSync(whisperModel().folder, folder, { recursive: true })
  })

  it('are refused with a language that they lack', async () => {
    await expect(sherpaOnnx().open(whisperModel(folder, { language: 'de' }))).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(/"language" is "de", which the model does not have; it has en\./) as unknown,
    })
  })

  it('are refused by the library, and not by its end, if encoder and decoder are exchanged', async () => {
    const model = whisperModel(folder)
    const exchanged = { encoder: 'tiny.en-decoder.int8.onnx', decoder: 'tiny.en-encoder.int8.onnx' }
    await expect(
      sherpaOnnx().open({ ...model, options: { ...model.options, whisper: exchanged } }),
    ).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(/does not load its files/) as unknown,
    })
  })
})

describe('processes of the embedded model', () => {
  it('lose no segment when they are killed in mid-reading', async () => {
    const workers: PoolWorker[] = []
    const kind = createSherpaOnnx((settings) => (events) => {
      const worker = inProcesses(settings)(events)
      workers.push(worker)
      return worker
    })
    const opening = await kind.open(whisperModel(undefined, { processes: 2, partials: 'off' }))
    const faults: string[] = []
    const engine = withSegmentRetry(opening, { onFault: ({ code }) => faults.push(code) })
    const channels = [0, 1].map(() => new TestChannel(engine))
    for (const channel of channels) {
      channel
        .send({ type: 'open', startMs: 0 }, { type: 'audio', samples: greeting }, { type: 'close', endMs: 2_625 })
        .complete()
    }
    await workers[0]?.terminate()
    for (const channel of channels) expect(await channel.ended()).toBe('complete')
    for (const { segments } of channels) expect(segments.map(({ text }) => text).join(' ')).toMatch(help)
    expect(faults).toContain('engine-failed')
    await opening.close()
  })

  it('are replaced when they are too large, between two readings, none of which is lost', async () => {
    const { reader, workers, read } = await openReader(whisperModel(), { maxProcessBytes: 1 })
    // The next process opens beside the readings of the one before.
    for (let at = 0; at < 40 && workers.length <= 2; at += 1) expect((await read(greeting)).text).toMatch(help)
    expect(workers.length).toBeGreaterThan(2)
    await reader.close()
  })

  it('share the readings, one each at a time', async () => {
    const { reader, read } = await openReader(whisperModel())
    const texts = await Promise.all([0, 1, 2].map(async () => (await read(greeting)).text))
    expect(new Set(texts).size).toBe(1)
    await reader.close()
  })
})

const base = process.env['RXSPEECH_WHISPER_BASE']

describe.skipIf(base === undefined)('a model of 99 languages (RXSPEECH_WHISPER_BASE)', () => {
  it('reads in the language of the session, and refuses one that it lacks', async () => {
    const model = whisperModel(base, {}, 'base')
    const engine = await sherpaOnnx().open(model)
    expect(engine.capabilities.languages).toEqual(expect.arrayContaining(['auto', 'en', 'es']))
    await engine.close()
    const { reader, read } = await openReader(model)
    expect((await read(greeting, { language: 'en' })).text).toMatch(help)
    const spanish = (await read(greeting, { language: 'es' })).text
    expect(spanish).not.toMatch(help)
    expect((await read(greeting, { language: 'auto' })).text).toMatch(help)
    await reader.close()
    await expect(sherpaOnnx().open(whisperModel(base, { language: 'xx' }, 'base'))).rejects.toMatchObject({
      message: expect.stringMatching(/"language" is "xx", which the model does not have/) as unknown,
    })
  })
})
