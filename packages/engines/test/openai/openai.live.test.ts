import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { withSegmentRetry } from '../../src/segment-retry.js'
import type { Engine, ModelDescription } from '../../src/engine.js'
import { openai } from '../../src/openai/openai.js'
import { TranscriptionReader, type TranscriptionOptions } from '../../src/openai/reader.js'
import { TranscriptionClient } from '../../src/openai/request.js'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { developmentCertificates } from '../../../server/src/identity/keys/development-certificates.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
import { kindOf, recognize, segmentOf } from '../one-segment.js'
import { json, plain, transcriptionServer, type Respond, type TranscriptionServer } from './transcription-server.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const sampleRateHz = 16_000
const key = 'sk-1234567890'
const neverAborted = new AbortController().signal

const folder = temporaryFolder()
let server: TranscriptionServer
beforeAll(async () => {
  await writeFile(join(folder, 'key'), `${key}\n`)
})
beforeEach(async () => {
  server = await transcriptionServer()
})
afterEach(() => server.close())

const silence = new Int16Array(sampleRateHz / 2)
/** Half a second of a tone between silences: sound that may be speech. */
const sound = Int16Array.from({ length: sampleRateHz }, (_, at) =>
  at % sampleRateHz < sampleRateHz / 2 ? Math.round(8000 * Math.sin(at / 5)) : 0,
)

const modelOf = (change: Readonly<Record<string, unknown>> = {}): ModelDescription => ({
  ...{ tenant: 'Default', name: 'other', version: '1', folder },
  options: { engine: 'openai', url: server.url, ...change },
})

const readerOf = (
  options: TranscriptionOptions = {},
  scheduler: SchedulerLike = asyncScheduler,
): TranscriptionReader => {
  const name = { model: 'Default/other/1', peer: `127.0.0.1:${server.port}` }
  const url = new URL(`${server.url}/v1/audio/transcriptions`)
  const client = new TranscriptionClient({ url, name, key, ca: undefined, sampleRateHz, scheduler })
  return new TranscriptionReader(client, name, options, { sampleRateHz, readsAtOnce: 2, scheduler })
}

const read = (reader: TranscriptionReader, samples = sound): Promise<unknown> =>
  reader.read({ samples, purpose: 'final' }, neverAborted).catch((error: unknown) => error)
const fieldsOf = (at: number): unknown => Object.fromEntries(server.requests[at]?.fields ?? [])
const formatOf = (at: number): unknown => (fieldsOf(at) as Readonly<Record<string, string>>)['response_format']

describe('a request to a transcription server', () => {
  it('has the audio as a WAV file, the fields and the key', async () => {
    const reader = readerOf({ model: 'small', language: 'de', fields: { vad: 'true' } })
    server.answer(json({ text: ' Hallo ' }))
    expect(await read(reader)).toEqual({ text: 'Hallo' })
    const [request] = server.requests
    expect(request).toMatchObject({ method: 'POST', path: '/v1/audio/transcriptions' })
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${key}` })
    expect(request?.fields).toEqual([
      ['vad', 'true'],
      ['model', 'small'],
      ['language', 'de'],
      ['response_format', 'verbose_json'],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
    ])
    expect(request?.wav.length).toBe(44 + 2 * sound.length)
    expect(request?.wav.readUInt32LE(4)).toBe(36 + 2 * sound.length)
    expect(request?.wav.readUInt32LE(24)).toBe(sampleRateHz)
    expect(request?.wav.readUInt32LE(40)).toBe(2 * sound.length)
    expect(request?.wav.readInt16LE(44 + 2 * 100)).toBe(sound[100])
  })

  it('has the language and the phrases of the session, in the field of the model', async () => {
    const reader = readerOf({ language: 'de', phrases: 'hotwords' })
    await reader.read({ samples: sound, purpose: 'final', language: 'fr', phrases: ['anna', 'big ben'] }, neverAborted)
    await reader.read({ samples: sound, purpose: 'final', language: 'auto' }, neverAborted)
    expect(fieldsOf(0)).toMatchObject({ language: 'fr', hotwords: 'anna, big ben' })
    expect(fieldsOf(1)).not.toHaveProperty('language')
  })

  it('asks whisper.cpp to read a partial in a short window, if the model says so, and a final in the whole one', async () => {
    const reader = readerOf({ audioContext: true })
    await reader.read({ samples: sound, purpose: 'partial' }, neverAborted)
    await reader.read({ samples: sound, purpose: 'final' }, neverAborted)
    await readerOf().read({ samples: sound, purpose: 'partial' }, neverAborted)
    expect(fieldsOf(0)).toMatchObject({ audio_ctx: '175' })
    expect(fieldsOf(1)).not.toHaveProperty('audio_ctx')
    expect(fieldsOf(2)).not.toHaveProperty('audio_ctx')
  })

  it.each([400, 415, 422])(
    'asks for less when the server refuses words with %i, from then on at once',
    async (status) => {
      const reader = readerOf()
      server.answer(json({ detail: 'no verbose_json' }, status), json({ text: 'a' }))
      expect(await read(reader)).toEqual({ text: 'a' })
      expect(await read(reader)).toEqual({ text: 'a' })
      expect([0, 1, 2].map(formatOf)).toEqual(['verbose_json', 'json', 'json'])
      expect(server.requests).toHaveLength(3)
    },
  )

  it('does not ask for less once the server has sent words', async () => {
    const reader = readerOf()
    server.answer(json({ text: 'a' }), json({ error: { message: 'too short' } }, 400))
    await read(reader)
    expect(await read(reader)).toMatchObject({ code: 'engine-failed', retryable: false })
    expect(server.requests).toHaveLength(2)
  })

  it('does not remember a form that the server refuses in both ways', async () => {
    const reader = readerOf()
    server.answer(plain('Invalid request', 400))
    await read(reader)
    server.answer(json({ text: 'a' }))
    expect(await read(reader)).toEqual({ text: 'a' })
    expect([0, 1, 2].map(formatOf)).toEqual(['verbose_json', 'json', 'verbose_json'])
  })
})

describe('a failure of a transcription server', () => {
  it.each<readonly [string, Respond, string]>([
    ['401', json({ error: 'no' }, 401), 'engine-failed'],
    ['403', json({ detail: 'no' }, 403), 'engine-failed'],
    ['404', json({ detail: 'no such model' }, 404), 'engine-failed'],
    ['413', plain('too large', 413), 'engine-failed'],
    ['a redirect', plain('', 307, { location: 'https://elsewhere.example' }), 'engine-failed'],
    ['408', plain('', 408), 'engine-failed retryable loss'],
    ['500', plain('Internal Server Error', 500), 'engine-failed retryable'],
    ['502', plain('<html>Bad Gateway</html>', 502), 'engine-failed retryable loss'],
    ['503', plain('', 503), 'engine-failed retryable loss'],
    ['504', plain('', 504), 'engine-failed retryable loss'],
    ['503 for a minute', plain('', 503, { 'retry-after': '60' }), 'overloaded retryable'],
    ['429 for a minute', plain('', 429, { 'retry-after': '60' }), 'overloaded retryable'],
    ['an error with status 200', json({ error: { message: 'no' } }), 'engine-failed retryable'],
    ['no JSON', plain('<html>welcome</html>', 200), 'engine-failed retryable'],
    ['a broken connection', (response) => response.destroy(), 'engine-failed retryable loss'],
    [
      'an answer that breaks off',
      (response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"text":')
        setImmediate(() => response.destroy())
      },
      'engine-failed retryable loss',
    ],
    [
      'an answer without an end',
      (response) => {
        const more = (): void => {
          if (!response.destroyed) response.write(Buffer.alloc(1_048_576, 32), more)
        }
        response.writeHead(200)
        more()
      },
      'engine-failed',
    ],
  ])('by %s', async (_name, respond, kind) => {
    server.answer(respond)
    const error = await read(readerOf())
    expect(kindOf(error)).toBe(kind)
    expect((error as SpeechError).message).toMatch(
      /The recognition server (of the model Default\/other\/1|is overloaded)/,
    )
    expect(server.requests).toHaveLength(1)
  })

  it('is a loss when nothing listens', async () => {
    const reader = readerOf()
    await server.close()
    const error = await read(reader)
    expect(kindOf(error)).toBe('engine-failed retryable loss')
    expect((error as SpeechError).cause).toMatchObject({
      code: 'connection-failed',
      message: expect.stringContaining('Nothing listens') as unknown,
    })
    server = await transcriptionServer()
  })

  it.each<readonly [string, Respond, string]>([
    ['an object', json({ error: { message: `bad key ${key}` } }, 401), '401: bad key ***'],
    ['a text in an object', json({ error: 'no key' }, 401), '401: no key'],
    ['a detail', json({ detail: 'no\nmodel' }, 404), '404: no model'],
    ['a list', json({ detail: [{ msg: 'too long', input: 'what was said' }] }, 413), '413: too long'],
    ['text', plain('x'.repeat(1000), 413), `413: ${'x'.repeat(300)}`],
    ['a page', plain('<!DOCTYPE html><html>…', 404), '404: a page of HTML'],
  ])('quotes %s for the operator only, cut and without the key', async (_name, respond, text) => {
    server.answer(respond)
    const error = (await read(readerOf())) as SpeechError
    expect(error.message).toBe('The recognition server of the model Default/other/1 failed; try again.')
    expect((error.cause as Error).message).toBe(`127.0.0.1:${server.port} answered with status ${text}`)
  })

  it('of a segment without speech is an empty result, if the server fails with 500 because nothing is left to read', async () => {
    server.answer(plain('Internal Server Error', 500))
    const steady = Int16Array.from({ length: sampleRateHz }, (_, at) => 3000 * Math.sin(at / 50))
    expect(await read(readerOf(), silence)).toEqual({ text: '' })
    expect(await read(readerOf(), steady)).toEqual({ text: '' })
    expect(kindOf(await read(readerOf(), sound))).toBe('engine-failed retryable')
  })

  it('that asks to wait a little is waited for, three times', async () => {
    const clock = new VirtualClock()
    const reader = readerOf({}, clock)
    const busy = plain('', 429, { 'retry-after': '2' })
    server.answer(busy, busy, busy, json({ text: 'a' }))
    const reading = read(reader)
    for (const waits of [1, 2, 3]) {
      await server.received(waits)
      await expect.poll(() => clock.dueMs, { interval: 1 }).toEqual([waits * 2_000])
      clock.advanceTo(waits * 2_000 - 1)
      expect(server.requests).toHaveLength(waits)
      clock.advanceTo(waits * 2_000)
    }
    expect(await reading).toEqual({ text: 'a' })
  })

  it('that asks to wait is not waited for by a partial', async () => {
    server.answer(plain('', 429, { 'retry-after': '1' }))
    const reading = readerOf().read({ samples: sound, purpose: 'partial' }, neverAborted)
    await expect(reading).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 1_000 })
    expect(server.requests).toHaveLength(1)
  })

  it('to answer in time is a loss, later if it may have to load its model', async () => {
    const clock = new VirtualClock()
    const reader = readerOf({}, clock)
    const silent: Respond = () => undefined
    server.answer(silent, json({ text: 'a' }), silent)
    const cold = read(reader)
    await server.received(1)
    clock.advanceTo(82_999)
    await flushPromises()
    expect(clock.waiting).toBe(1)
    clock.advanceTo(83_000)
    expect(kindOf(await cold)).toBe('engine-failed retryable loss')
    await server.requests[0]?.closed
    await read(reader)
    const warm = read(reader)
    await server.received(3)
    clock.advanceTo(106_000)
    expect(await warm).toMatchObject({ cause: { message: `127.0.0.1:${server.port} did not answer within 23000 ms.` } })
  })

  it('is not waited for when the reading is aborted, or the reader closed: the request ends', async () => {
    const reader = readerOf()
    server.answer(() => undefined)
    const aborting = new AbortController()
    const partial = reader.read({ samples: sound, purpose: 'partial' }, aborting.signal)
    await server.received(1)
    aborting.abort()
    await expect(partial).rejects.toThrow()
    await server.requests[0]?.closed
    const reading = read(reader)
    await server.received(2)
    await reader.close()
    await reading
    await server.requests[1]?.closed
  })
})

describe('a model of the engine openai', () => {
  const opened: Engine[] = []
  afterEach(async () => {
    for (const engine of opened.splice(0)) await engine.close()
  })
  const open = async (change?: Readonly<Record<string, unknown>>): Promise<Engine> => {
    const engine = await openai({ env: { KEY: key } }).open(modelOf(change))
    opened.push(engine)
    return engine
  }

  it('has the server read a second of a tone before it is used, then a request for each segment', async () => {
    server.answer(json({ text: '' }), json({ text: 'hello', words: [{ word: 'hello', start: 0.1, end: 0.3 }] }))
    const engine = await open({ secretFrom: { env: 'KEY' } })
    expect(server.requests[0]?.wav.length).toBe(44 + 2 * sampleRateHz)
    const output = await recognize(engine, sound)
    expect(segmentOf(output)).toMatchObject({ startMs: 5000, endMs: 6000, text: 'hello' })
    expect(segmentOf(output)).toHaveProperty('words', [
      expect.objectContaining({ text: 'hello', startMs: 5100, endMs: 5300 }),
    ])
    expect(server.requests[1]?.headers).toMatchObject({ authorization: `Bearer ${key}` })
  })

  it.each([
    ['', '/v1/audio/transcriptions'],
    ['/v1', '/v1/audio/transcriptions'],
    ['/inference', '/inference'],
    ['/openai/transcribe?version=2', '/openai/transcribe?version=2'],
  ])('with the path %j asks at %j', async (path, asked) => {
    await open({ url: server.url + path })
    expect(server.requests[0]?.path).toBe(asked)
  })

  it('takes the key from a file, and a server with a certificate of its own', async () => {
    const tls = await developmentCertificates(folder)
    await writeFile(join(folder, 'authority.pem'), tls.ca)
    const secured = await transcriptionServer({ key: tls.key, cert: tls.certificate })
    await open({ url: secured.url, secretFrom: { file: 'key' }, ca: 'authority.pem' })
    expect(secured.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${key}` })
    await expect(open({ url: secured.url })).rejects.toThrow(
      /^Model Default\/other\/1: The certificate of .* is not trusted/,
    )
    await secured.close()
  })

  it('is refused for what the server refuses', async () => {
    server.answer(json({ detail: 'Model x is not installed' }, 404))
    await expect(open()).rejects.toMatchObject({
      code: 'invalid-model',
      message: `Model Default/other/1: 127.0.0.1:${server.port} answered with status 404: Model x is not installed; check "url", "model", "secretFrom" and "fields".`,
    })
  })

  it('fails to open while the server is away, is ready when it answers at all, and works again when it returns', async () => {
    const { port } = server
    const engine = await open()
    await engine.ready()
    await server.close()
    await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed', cause: { code: 'connection-failed' } })
    await expect(open()).rejects.toMatchObject({ code: 'engine-failed', cause: { code: 'connection-failed' } })
    const clock = new VirtualClock()
    const failures: SpeechError[] = []
    const retried = withSegmentRetry(engine, { scheduler: clock, onFault: (error) => failures.push(error) })
    const output = recognize(retried, sound)
    await expect.poll(() => failures.length, { interval: 1 }).toBe(2)
    server = await transcriptionServer(undefined, port)
    server.answer(json({ text: 'hello' }))
    clock.advanceTo(1_000)
    expect(segmentOf(await output)).toMatchObject({ text: 'hello' })
    expect(failures.map(kindOf)).toEqual(Array(2).fill('engine-failed retryable loss'))
  })

  it('has the capability of phrases only if the model names their field', async () => {
    expect((await open()).capabilities).toMatchObject({ phrases: false, kind: 'dictation' })
    expect((await open({ phrases: 'prompt' })).capabilities).toMatchObject({ phrases: true })
  })

  it.each<readonly [Readonly<Record<string, unknown>>, RegExp]>([
    [{ url: 'x' }, /"url" in model\.json must be an address that begins with https/],
    [{ url: 'ws://127.0.0.1:1' }, /"url" in model\.json must be an address that begins with https/],
    [{ url: 'http://speech.example.com' }, /must begin with https.*"insecure": true allows it/],
    [{ url: 'https://user:pass@speech.example.com' }, /no user, password/],
    [{ apiKey: 'x' }, /"apiKey" in model\.json is not known/],
    [{ secretFrom: key }, /"secretFrom" in model\.json must be \{"env"/],
    [{ secretFrom: { env: 'NOT_SET' } }, /NOT_SET, which is not set/],
    [{ secretFrom: { file: 'none' } }, /"secretFrom" in model\.json names "none", which cannot be read/],
    [{ ca: 'none.pem' }, /"ca" in model\.json names "none\.pem", which cannot be read/],
    [{ sampleRateHz: 44_100 }, /"sampleRateHz" in model\.json must be 8000 or 16000/],
    [{ phrases: 'context' }, /"phrases" in model\.json must be "prompt" or "hotwords"/],
    [{ segmentsAtOnce: 0 }, /"segmentsAtOnce" in model\.json must be a whole number from 1/],
  ])('is refused with %j', async (change, message) => {
    const failing = open(change)
    await expect(failing).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(message) as unknown,
    })
    await expect(failing).rejects.toMatchObject({ message: expect.not.stringContaining(key) as unknown })
    expect(server.requests).toEqual([])
  })
})
