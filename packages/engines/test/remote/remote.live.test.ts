import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { from, lastValueFrom, tap, toArray } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, ModelDescription } from '../../src/engine.js'
import { remote } from '../../src/remote/remote.js'
import { withSegmentRetry } from '../../src/segment-retry.js'
import { soundswallower } from '../../src/soundswallower/soundswallower.js'
import { openSocket } from '../../../service/test/interop/plain-socket-client.js'
import { tcpProxy } from '../../../../test/transport/tcp-proxy.js'
import { plainSecret, plainService, recognizeOf } from '../../../service/test/plain-service.js'
import { recording, recordingsAreHere, recordingsTitle, segmentParts, withLineNoise } from '../recordings.js'
import { farService, type FarService } from './far-service.js'

let far: FarService
beforeAll(async () => {
  far = await farService()
})
afterAll(() => far.close())

const opened: Engine[] = []
const open = async (change: Readonly<Record<string, unknown>> = {}): Promise<Engine> => {
  const engine = await remote().open(far.model(change))
  opened.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close()
})

const run = (engine: Engine, samples: Int16Array): Promise<Hypothesis[]> =>
  lastValueFrom(from(segmentParts(samples, 5000)).pipe(engine.recognize(), toArray()))
const segmentOf = (output: readonly Hypothesis[]) => output.find((hypothesis) => hypothesis.type === 'segment')
const samplesOf = (output: readonly Hypothesis[]): number =>
  output.reduce((sum, hypothesis) => sum + (hypothesis.type === 'progress' ? hypothesis.sampleCount : 0), 0)

describe.skipIf(!recordingsAreHere)(`a service as an engine, with ${recordingsTitle}`, () => {
  /** The engine of the other service, without that service. */
  let near: Engine
  beforeAll(async () => {
    near = await soundswallower({ workers: 1 }).open({
      ...far.model(),
      folder: join(__dirname, '../fixtures/Default/cards/1'),
      options: { engine: 'soundswallower', grammar: 'cards.gram' },
    })
  })
  afterAll(() => near.close())

  it.each(['ten-of-clubs.wav', 'four-queen-of-clubs.wav', 'seven-of-clubs.wav'])(
    'recognizes %s as the engine there does',
    async (file) => {
      const samples = withLineNoise(await recording(file))
      const expected = segmentOf(await run(near, samples))
      const output = await run(await open(), samples)
      expect(segmentOf(output)).toMatchObject({ startMs: 5000, endMs: expected?.endMs, text: expected?.text })
      expect(segmentOf(output)?.text).toMatch(/of clubs$/)
      expect(segmentOf(output)).toHaveProperty('confidence', expect.closeTo(0.9, 0))
      // It cuts the segment a little otherwise, because it detects speech in it.
      expect(segmentOf(output)?.words).toMatchObject(
        (expected?.words ?? []).map(({ text, startMs, endMs }) => ({
          text,
          startMs: expect.closeTo(startMs, -2) as unknown,
          endMs: expect.closeTo(endMs, -2) as unknown,
        })),
      )
      expect(output.filter(({ type }) => type === 'partial').length).toBeGreaterThan(0)
      expect(samplesOf(output)).toBe(samples.length)
    },
  )

  it('reads the secret from the given environment', async () => {
    const model = far.model({ secretFrom: { env: 'FAR_SECRET' } })
    await expect(remote({ env: {} }).open(model)).rejects.toThrow(/FAR_SECRET, which is not set/)
    const engine = await remote({ env: { FAR_SECRET: plainSecret } }).open(model)
    await engine.close()
  })

  it('fails when the connection is lost within a segment, with the reason as the cause', async () => {
    const { proxy, engine } = await behindProxy()
    const samples = withLineNoise(await recording('ten-of-clubs.wav'))
    const failing = lastValueFrom(
      from(segmentParts(samples)).pipe(
        engine.recognize(),
        tap(({ type }) => {
          if (type === 'partial') proxy.cut()
        }),
      ),
    )
    await expect(failing).rejects.toMatchObject({
      code: 'engine-failed',
      retryable: true,
      cause: { code: expect.stringMatching(/^connection-/) as unknown },
    })
    await proxy.close()
  })

  it('is retried from the start of the segment when the connection is lost once', async () => {
    const { proxy, engine } = await behindProxy()
    const samples = withLineNoise(await recording('ten-of-clubs.wav'))
    let cuts = 0
    const output = await lastValueFrom(
      from(segmentParts(samples)).pipe(
        withSegmentRetry(engine).recognize(),
        tap(({ type }) => {
          if (type === 'partial' && cuts++ === 0) proxy.cut()
        }),
        toArray(),
      ),
    )
    expect(segmentOf(output)?.text).toBe('ten of clubs')
    expect(output.filter(({ type }) => type === 'fault')).toMatchObject([{ retried: true }])
    expect(samplesOf(output)).toBe(samples.length)
    await proxy.close()
  })
})

const behindProxy = async () => {
  const proxy = await tcpProxy(Number(new URL(far.service.started.wsUrl).port))
  return { proxy, engine: await open({ url: `ws://127.0.0.1:${proxy.port}` }) }
}

describe('a model of the engine remote', () => {
  it('is ready while the other service accepts recognitions, and not ready when it does not, despite a valid token', async () => {
    const { proxy, engine } = await behindProxy()
    await engine.ready()
    await proxy.close()
    await expect(engine.ready()).rejects.toMatchObject({
      code: 'engine-failed',
      message: 'The remote recognition service takes no recognition.',
      cause: { code: expect.stringMatching(/^connection-/) as unknown },
    })
  })

  const broken = (change: Readonly<Record<string, unknown>>): Promise<unknown> =>
    open(change).then(
      () => 'opened',
      (error: unknown) => error,
    )

  it.each<readonly [Readonly<Record<string, unknown>>, RegExp]>([
    [{ sampleRateHz: 44_100 }, /"sampleRateHz" in model\.json must be 8000 or 16000/],
    [{ url: '' }, /"url" in model\.json must be the address/],
    [{ url: 'https://x.example' }, /url must be an address such as wss/],
    [{ url: 'ws://speech.example.com' }, /clear text/],
    [{ authUrl: 'http://auth.example.com' }, /authUrl must begin with https/],
    [{ secret: 'x' }, /"secret" in model\.json is not known/],
    [{ secretFrom: 'x' }, /"secretFrom" in model\.json must be \{"env"/],
    [{ secretFrom: { env: 'RXSPEECH_NOT_SET' } }, /RXSPEECH_NOT_SET, which is not set/],
    [{ secretFrom: { file: 'none' } }, /"secretFrom" in model\.json names "none", which cannot be read/],
    [{ secretFrom: { file: '../secret' } }, /not inside the model's folder/],
    [{ ca: 'none.pem' }, /"ca" in model\.json names "none\.pem"/],
    [{ modelName: undefined }, /"modelName" in model\.json must be the name/],
    [{ segmentsAtOnce: 0 }, /"segmentsAtOnce" in model\.json must be/],
  ])('is refused for %j, with the key', async (change, message) => {
    expect(await broken(change)).toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(message) as unknown,
    })
  })

  it('is refused for a wrong secret with the reason of its service, and without the secret', async () => {
    const error = await broken({ secretFrom: { file: 'wrong' } })
    expect(error).toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(/^Model Default\/far\/1: .*(client|secret)/) as unknown,
    })
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('a-secret-that-is-wrong')
  })

  it('is refused when nothing answers at its address', async () => {
    expect(await broken({ authUrl: 'http://127.0.0.1:1' })).toMatchObject({
      code: 'invalid-model',
      cause: { code: 'connection-failed' },
    })
  })

  it('is overloaded when its service is, with the same delay', async () => {
    const full = await plainService({ limits: { sessions: 1 } })
    const only = await openSocket(full)
    const engine = await open({ url: full.started.wsUrl, authUrl: full.started.authUrl, modelName: 'm' })
    await expect(run(engine, new Int16Array(800))).rejects.toMatchObject({
      code: 'overloaded',
      message: 'The recognition engine is overloaded; try again later.',
      retryable: true,
      retryAfterMs: expect.any(Number) as unknown,
      cause: { code: 'overloaded' },
    })
    only.close()
    await only.receive()
    await full.close()
  })

  it('fails without a retry for a model that is unknown there', async () => {
    const engine = await open({ modelName: 'other' })
    await expect(run(engine, new Int16Array(800))).rejects.toMatchObject({
      code: 'engine-failed',
      retryable: false,
      cause: { code: 'model-denied' },
    })
  })
})

describe('a service whose model is another service', () => {
  const near = async (change: Readonly<Record<string, unknown>> = {}) => {
    const folder = await mkdtemp(join(tmpdir(), 'rxspeech-near-'))
    await mkdir(join(folder, 'Default/m/1'), { recursive: true })
    const { options }: ModelDescription = far.model(change)
    await writeFile(join(folder, 'Default/m/1/model.json'), JSON.stringify(options))
    await writeFile(join(folder, 'Default/m/1/secret'), plainSecret)
    await writeFile(join(folder, 'Default/m/1/wrong'), 'a-secret-that-is-wrong')
    const service = await plainService({ modelFolders: [folder], defaultModel: 'm', development: true })
    return {
      service,
      close: async () => {
        await service.close()
        await rm(folder, { recursive: true })
      },
    }
  }

  it.skipIf(!recordingsAreHere)('recognizes as the other service does', async () => {
    const { service, close } = await near()
    const samples = withLineNoise(await recording('ten-of-clubs.wav'))
    const resultOf = async (through: typeof service, model: string) => {
      const socket = await openSocket(through)
      socket.send(recognizeOf({ 'model-name': model }))
      await socket.receive()
      socket.audio(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength))
      socket.send({ 'message-name': 'finalize-recognition' })
      for (;;) {
        const message = await socket.receive()
        if (message['message-name'] !== 'final-result') continue
        socket.close()
        await socket.receive()
        const { text, 'operation-result': result } = message
        return { text, result }
      }
    }
    const both = [await resultOf(service, 'm'), await resultOf(far.service, 'cards')]
    expect(both[0]).toEqual({ text: 'ten of clubs', result: 'Success' })
    expect(both[0]).toEqual(both[1])
    await close()
  })

  it('reports to its operator what is wrong with the secret, and nothing to clients', async () => {
    const { service, close } = await near({ secretFrom: { file: 'wrong' } })
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    const answer = await socket.receive()
    expect(answer['operation-result']).toBe(
      'engine-failed: The model cannot be used now; tell the operator of the service.',
    )
    const causes = service.faults.map((fault) => (fault as Error).cause as Error)
    expect(causes.map(({ message }) => message).join()).toMatch(/Model Default\/m\/1: .*secret/)
    socket.close()
    await socket.receive()
    await close()
  })
})
