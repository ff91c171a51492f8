import * as openTelemetry from '@opentelemetry/api'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { failover } from '../../../../src/client/failover/failover.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { Recognition } from '../../../../src/client/session.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { breakingEngine } from '../../../engines/test/breaking-engine.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { plainService, type PlainService } from '../plain-service.js'
import { startCollector, type Collector } from './collector.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
let audio: readonly Uint8Array[]
let collector: Collector
const opened: PlainService[] = []
const start = async (...options: Parameters<typeof plainService>): Promise<PlainService> => {
  const service = await plainService(...options)
  opened.push(service)
  return service
}
const overGrpc = async (service: PlainService, change = {}): Promise<Recognition> =>
  dataflow({
    ...{
      url: service.started.grpcAddress,
      connection: { insecure: true },
      tenant: 'Default',
      project: 'transcribe',
      model: 'm',
    },
    ...{ token: await service.newToken(), format, openTelemetry, resumption: false, ...change },
  })
const overWebSocket = async (service: PlainService, change = {}): Promise<Recognition> =>
  recognize({
    ...{ url: service.started.wsUrl, model: 'm', token: await service.newToken(), format, openTelemetry },
    ...{ resumption: false, ...change },
  })
const interfaces = [
  ['gRPC', overGrpc],
  ['WebSocket', overWebSocket],
] as const

beforeAll(async () => {
  collector = await startCollector()
  audio = [await spoken(3_000)]
})
afterEach(async () => {
  for (const service of opened.splice(0)) await service.close()
  collector.clear()
})
afterAll(() => collector.close())

describe.each(interfaces)('a traced session over %s', (name, open) => {
  it('has the error of the service in the spans of both', async () => {
    const session = await open(await start(), { model: 'unknown' })
    await expect(lastValueFrom(session(audio))).rejects.toMatchObject({ code: 'model-denied' })
    await expect.poll(() => collector.named('rxspeech.serve').length).toBe(1)
    expect(collector.named('rxspeech.session')).toMatchObject([
      { isError: true, attributes: { 'error.type': 'model-denied' } },
    ])
    // A socket takes further requests after one that is refused.
    expect(collector.named('rxspeech.serve')[0]).toMatchObject(
      name === 'gRPC'
        ? { isError: true, attributes: { 'error.type': 'model-denied' } }
        : { events: ['refused'], text: expect.stringContaining('model-denied') as string },
    )
  })

  it('has the failure of an engine in the span of the segment', async () => {
    const fault = (): SpeechError => new SpeechError('engine-failed', 'It broke.', { retryable: false })
    const engine = breakingEngine(scriptedEngine({ texts: ['hello'] }), [2], fault)
    const session = await open(await start({}, [], engine))
    // Over gRPC, the session has a final for all of its audio before the error, and completes.
    await lastValueFrom(session(audio)).catch(() => undefined)
    for (const span of ['rxspeech.segment', 'rxspeech.serve']) {
      await expect.poll(() => collector.named(span).length).toBe(1)
      expect(collector.named(span)).toMatchObject([{ isError: true, attributes: { 'error.type': 'engine-failed' } }])
    }
  })

  it('has a failure that is retried as an event of the segment', async () => {
    const engine = breakingEngine(scriptedEngine({ texts: ['hello'] }), [3])
    const session = await open(await start({}, [], engine))
    await lastValueFrom(session(audio).pipe(toArray()))
    const [segment] = collector.named('rxspeech.segment')
    expect(segment).toMatchObject({ isError: false })
    expect(segment?.events.toSorted()).toEqual(['attempt failed', 'audio ended', 'first partial'])
  })

  it('causes no span of the service without a valid token', async () => {
    const session = await open(await start(), { token: 'no-token' })
    await expect(lastValueFrom(session(audio))).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(collector.named('rxspeech.session')).toMatchObject([{ isError: true }])
    expect(collector.named('rxspeech.serve')).toEqual([])
  })

  it('ends its span when it is unsubscribed', async () => {
    const session = await open(await start())
    const subscription = session(audio).subscribe()
    subscription.unsubscribe()
    expect(collector.named('rxspeech.session')).toMatchObject([{ isError: false }])
  })

  it('has a span for each subscription, and none without the option', async () => {
    const service = await start()
    const session = await open(service)
    await lastValueFrom(session(audio).pipe(toArray()))
    await lastValueFrom(session(audio).pipe(toArray()))
    const traces = collector.named('rxspeech.session').map(({ traceId }) => traceId)
    expect(new Set(traces).size).toBe(2)
    const servedTraces = (): readonly string[] => collector.named('rxspeech.serve').map(({ traceId }) => traceId)
    await expect.poll(() => servedTraces().toSorted()).toEqual(traces.toSorted())
    expect(collector.named('rxspeech.segment').length).toBeGreaterThan(0)
    collector.clear()
    await lastValueFrom((await open(service, { openTelemetry: undefined }))(audio).pipe(toArray()))
    expect(collector.named('rxspeech.session')).toEqual([])
    // The service is traced for itself.
    await expect.poll(() => collector.named('rxspeech.serve').length).toBe(1)
    expect(collector.named('rxspeech.serve')).toMatchObject([{ parentId: '' }])
  })

  it('refuses another value than the package', async () => {
    const service = await start()
    await expect(open(service, { openTelemetry: {} })).rejects.toMatchObject({
      code: 'invalid-options',
      message: 'openTelemetry must be the package @opentelemetry/api.',
    })
  })
})

describe('a session with several services', () => {
  it('is one trace on both interfaces, whichever serves it', async () => {
    const [first, second] = [await start(), await start()]
    const change = { resumption: true, timeouts: { connectMs: 5_000 } }
    const grpc = await overGrpc(first, change)
    const session = failover([grpc, await overWebSocket(second, change)])
    await first.started.close({ drainMs: 0 })
    await lastValueFrom(session(audio).pipe(toArray()))
    const [span, ...others] = collector.named('rxspeech.session')
    expect(others).toEqual([])
    await expect.poll(() => collector.named('rxspeech.serve').length).toBe(1)
    expect(collector.named('rxspeech.serve')).toMatchObject([
      { parentId: span?.spanId, attributes: { 'rxspeech.interface': 'websocket' } },
    ])
  })
})

describe('the header of a stranger', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const connect = async (service: PlainService, traceparent: string | string[]): Promise<void> => {
    const headers = { Authorization: `Bearer ${await service.newToken()}`, traceparent }
    const socket = new WebSocket(`${service.started.wsUrl}/recognizer`, { headers })
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => socket.close())
      socket.once('close', () => resolve())
      socket.once('error', reject)
    })
    await expect.poll(() => collector.named('rxspeech.serve').length).toBe(1)
  }

  it('is continued if it is valid', async () => {
    await connect(await start(), `00-${traceId}-b7ad6b7169203331-01`)
    expect(collector.named('rxspeech.serve')).toMatchObject([{ traceId, parentId: 'b7ad6b7169203331' }])
  })

  it.each([
    ['garbage', 'garbage'],
    ['too long', `00-${traceId}-b7ad6b7169203331-01`.padEnd(4_000, '-')],
    ['a trace of zeros', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    ['sent twice', [`00-${traceId}-b7ad6b7169203331-01`, `00-${traceId}-b7ad6b7169203332-01`]],
  ])('is ignored if it is %s', async (_what, header) => {
    await connect(await start(), header)
    const [span] = collector.named('rxspeech.serve')
    expect(span).toMatchObject({ parentId: '', isError: false })
    expect(span?.traceId).not.toBe(traceId)
  })
})
