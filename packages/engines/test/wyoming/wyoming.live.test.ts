import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine, ModelDescription } from '../../src/engine.js'
import { withSegmentRetry } from '../../src/segment-retry.js'
import { WyomingReader } from '../../src/wyoming/reader.js'
import { wyoming } from '../../src/wyoming/wyoming.js'
import { developmentCertificates } from '../../../server/src/identity/keys/development-certificates.js'
import { connect } from 'node:net'
import { blackHole, listen, stop } from '../../../../test/transport/tcp-proxy.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { kindOf, recognize, segmentOf } from '../one-segment.js'
import { atEnd, tell, transcribes, wyomingServer, type Converse, type WyomingServer } from './wyoming-server.js'

const sampleRateHz = 16_000
const neverAborted = new AbortController().signal
const samples = Int16Array.from({ length: sampleRateHz / 4 + 1 }, (_none, index) => 4000 * Math.sin(index / 8))

let server: WyomingServer
beforeEach(async () => {
  server = await wyomingServer()
})
afterEach(() => server.close())

const readerOf = (scheduler: SchedulerLike = asyncScheduler, port = server.port): WyomingReader =>
  new WyomingReader(
    {
      url: new URL(`tcp://127.0.0.1:${port}`),
      name: { model: 'Default/other/1', peer: `127.0.0.1:${port}` },
      ca: undefined,
      scheduler,
    },
    { model: 'tiny', language: 'en' },
    { sampleRateHz, readsAtOnce: 2 },
  )

const read = (reader: WyomingReader): Promise<unknown> =>
  reader.read({ samples, purpose: 'final' }, neverAborted).catch((error: unknown) => error)

describe('an utterance of a Wyoming server', () => {
  it('has a connection of its own: its model and language, the audio, and the text without its spaces', async () => {
    server.converse = transcribes('  hello \n  world ')
    const reader = readerOf()
    expect(await read(reader)).toEqual({ text: 'hello world' })
    await reader.read({ samples, purpose: 'final', language: 'de' }, neverAborted)
    const [first, second] = server.utterances
    const format = { rate: 16_000, width: 2, channels: 1 }
    expect(first?.messages.map(({ type }) => type)).toEqual([
      ...['transcribe', 'audio-start', 'audio-chunk', 'audio-chunk', 'audio-chunk', 'audio-stop'],
    ])
    expect(first?.messages.slice(0, 3).map(({ data }) => data)).toEqual([
      { name: 'tiny', language: 'en' },
      format,
      format,
    ])
    expect(first?.audioBytes).toBe(2 * samples.length)
    expect(second?.messages[0]?.data).toEqual({ name: 'tiny', language: 'de' })
    await first?.closed
  })

  it.each<readonly [string, Converse]>([
    [
      'with the whole of it at the end',
      ({ type }, socket) => {
        if (type !== 'audio-stop') return
        tell(socket, 'transcript-start')
        tell(socket, 'transcript-chunk', { text: 'hel' })
        tell(socket, 'transcript', { text: 'hello' })
      },
    ],
    [
      'with parts only',
      ({ type }, socket) => {
        if (type !== 'audio-stop') return
        tell(socket, 'transcript-chunk', { text: ' hel' })
        tell(socket, 'transcript-chunk', { text: 'lo' })
        tell(socket, 'transcript-stop')
      },
    ],
    [
      'after messages that are not known',
      ({ type }, socket) => {
        if (type === 'audio-start') tell(socket, 'voice-started', { timestamp: 0 })
        if (type === 'audio-stop') tell(socket, 'transcript', { text: 'hello' })
      },
    ],
  ])('is read %s', async (_name, converse) => {
    server.converse = converse
    expect(await read(readerOf())).toEqual({ text: 'hello' })
  })

  it.each<readonly [string, Converse, string, RegExp]>([
    [
      'closes the connection without a word',
      atEnd((socket) => socket.end()),
      'engine-failed retryable',
      /closed the connection without an answer$/,
    ],
    [
      'reports an error',
      atEnd((socket) => tell(socket, 'error', { text: 'no\nmodel', code: 'x' })),
      'engine-failed retryable',
      /reports an error: no model$/,
    ],
    [
      'sends no messages',
      atEnd((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
      'engine-failed',
      /sent what is no message of Wyoming$/,
    ],
    [
      'is killed',
      atEnd((socket) => socket.resetAndDestroy()),
      'engine-failed retryable loss',
      /closed the connection before it answered; check that it runs\.$/,
    ],
  ])('fails when the server %s', async (_name, converse, kind, cause) => {
    server.converse = converse
    const error = await read(readerOf())
    expect(kindOf(error)).toBe(kind)
    expect(error).toMatchObject({
      message: 'The recognition server of the model Default/other/1 failed; try again.',
      cause: { message: expect.stringMatching(cause) as unknown },
    })
  })

  it('fails when nothing listens', async () => {
    const reader = readerOf()
    await server.close()
    expect(kindOf(await read(reader))).toBe('engine-failed retryable loss')
    server = await wyomingServer()
  })

  it('fails when the server does not answer in time, which begins with a minute to load its model', async () => {
    const clock = new VirtualClock()
    const hole = await blackHole()
    const reading = read(readerOf(clock, hole.port))
    await expect.poll(() => clock.dueMs, { interval: 1 }).toEqual([80_751])
    clock.advanceTo(80_751)
    const error = await reading
    expect(kindOf(error)).toBe('engine-failed retryable loss')
    expect(error).toMatchObject({ cause: { message: `127.0.0.1:${hole.port} did not answer within 80751 ms.` } })
    await hole.close()
  })

  it('ends with its connection when it is aborted, and when the reader is closed', async () => {
    server.converse = () => undefined
    const reader = readerOf()
    const aborting = new AbortController()
    const first = reader.read({ samples, purpose: 'partial' }, aborting.signal)
    await expect.poll(() => server.utterances[0]?.messages.length, { interval: 1 }).toBe(6)
    aborting.abort()
    await expect(first).rejects.toThrow('aborted')
    await server.utterances[0]?.closed
    const second = read(reader)
    await expect.poll(() => server.utterances[1]?.messages.length, { interval: 1 }).toBe(6)
    await reader.close()
    await second
    await server.utterances[1]?.closed
    expect(await read(reader)).toBeInstanceOf(Error)
    expect(server.utterances).toHaveLength(2)
  })
})

describe('a model of the engine wyoming', () => {
  const opened: Engine[] = []
  afterEach(async () => {
    for (const engine of opened.splice(0)) await engine.close()
  })
  const modelOf = (change: Readonly<Record<string, unknown>>, folder = '/'): ModelDescription => ({
    ...{ tenant: 'Default', name: 'other', version: '1', folder },
    options: { engine: 'wyoming', url: server.url, ...change },
  })
  const open = async (change: Readonly<Record<string, unknown>> = {}, folder?: string): Promise<Engine> => {
    const engine = await wyoming().open(modelOf(change, folder))
    opened.push(engine)
    return engine
  }

  it('asks what the server has, has it read a second of a tone, and then a segment', async () => {
    server.converse = transcribes('hello')
    const engine = await open()
    expect(server.utterances.map(({ audioBytes }) => audioBytes)).toEqual([0, 2 * sampleRateHz])
    expect(segmentOf(await recognize(engine, samples, 5_250))).toMatchObject({
      startMs: 5_000,
      endMs: 5_250,
      text: 'hello',
    })
  })

  it('is retried when the server is killed within a segment, and returns', async () => {
    server.converse = transcribes('hello')
    const engine = await open()
    await engine.ready()
    server.converse = atEnd((socket) => socket.resetAndDestroy())
    const { port } = server
    const clock = new VirtualClock()
    const failures: SpeechError[] = []
    const output = recognize(
      withSegmentRetry(engine, { scheduler: clock, onFault: (error) => failures.push(error) }),
      samples,
      5_250,
    )
    await expect.poll(() => failures.length, { interval: 1 }).toBe(2)
    await server.close()
    await expect(engine.ready()).rejects.toMatchObject({ code: 'engine-failed', cause: { code: 'connection-failed' } })
    server = await wyomingServer(transcribes('hello again'), port)
    clock.advanceTo(1_000)
    expect(segmentOf(await output)).toMatchObject({ text: 'hello again' })
  })

  it('takes a server behind TLS with a certificate of its own', async () => {
    server.converse = transcribes('hello')
    const folder = await mkdtemp(join(tmpdir(), 'rxspeech-wyoming-'))
    const { key, certificate, ca } = await developmentCertificates(folder)
    await writeFile(join(folder, 'authority.pem'), ca)
    const secured = createTlsServer({ key, cert: certificate }, (socket) => {
      const far = connect(server.port, '127.0.0.1')
      socket.pipe(far).pipe(socket)
      socket.on('error', () => undefined)
    })
    const url = `tls://127.0.0.1:${await listen(secured)}`
    await open({ url, ca: 'authority.pem' }, folder)
    await expect(open({ url })).rejects.toMatchObject({
      code: 'engine-failed',
      retryable: false,
      cause: { message: expect.stringContaining('is not trusted') as unknown },
    })
    await stop(secured)
    await rm(folder, { recursive: true })
  })

  it.each<readonly [Readonly<Record<string, unknown>>, RegExp]>([
    [{ url: 'http://127.0.0.1:1' }, /"url" in model\.json must be an address that begins with tls/],
    [{ url: 'tcp://127.0.0.1' }, /"url" in model\.json must have a port/],
    [{ url: 'tcp://speech.example.com:10300' }, /must begin with tls.*"insecure": true allows it/],
    [{ model: 'huge' }, /"model" in model\.json is none of the server, which has tiny, large/],
    [{ language: 'fr', model: 'tiny' }, /"language" in model\.json is none of the server's, which are en, de/],
    [{ phrases: 'prompt' }, /"phrases" in model\.json is not known/],
    [{ secretFrom: { env: 'X' } }, /"secretFrom" in model\.json is not known/],
  ])('is refused with %j', async (change, message) => {
    await expect(open(change)).rejects.toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(message) as unknown,
    })
  })

  it('is refused for a server that recognizes no speech', async () => {
    server.converse = (_message, socket) => tell(socket, 'info', { asr: [], tts: [{ name: 'voice' }] })
    await expect(open()).rejects.toThrow(/recognizes no speech/)
  })

  it('fails to open while the server is away', async () => {
    await server.close()
    await expect(open()).rejects.toMatchObject({ code: 'engine-failed', cause: { code: 'connection-failed' } })
    server = await wyomingServer()
  })
})
