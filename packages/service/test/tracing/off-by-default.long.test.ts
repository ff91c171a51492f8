import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as openTelemetry from '@opentelemetry/api'
import { Server, ServerCredentials, status, type Metadata, type ServerDuplexStream } from '@grpc/grpc-js'
import { lastValueFrom, Subject } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { recognize as recognizeInBrowser } from '../../../../src/client/recognizer/recognize-in-browser.js'
import type { SegmentPart } from '../../../engines/src/engine.js'
import { decodeRequest, type EngineRequest } from '../../../nats/src/engines/protocol.js'
import { traceSegments } from '../../../engines/src/traced-engine.js'
import { beginRemoteSpan } from '../../../server/src/monitor/remote-span.js'
import { beginLocalSpan } from '../../../../src/tracing/open-telemetry.js'
import { loadDataflow } from '../../../../src/transport/grpc/proto.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { callThrough, LiveFleet } from '../../../nats/test/engines/live-fleet.js'
import { natsIsSkipped, natsTitle } from '../../../nats/test/connection/nats-server.js'
import { startCollector } from './collector.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const shared = { token: 'token', format, openTelemetry, resumption: false } as const

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The headers of the upgrade request, which is refused. */
const upgradeHeaders = async (): Promise<IncomingHttpHeaders> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const headers = new Promise<IncomingHttpHeaders>((resolve) => {
    server.on('upgrade', (request, socket) => {
      resolve(request.headers)
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
    })
  })
  const session$ = recognize({ ...shared, url: `ws://127.0.0.1:${port}`, model: 'any' })([new Uint8Array(320)])
  await lastValueFrom(session$).catch(() => undefined)
  server.close()
  return headers
}

/** The metadata of the call, which is refused. */
const callMetadata = async (): Promise<Metadata> => {
  const server = new Server()
  const metadata = new Promise<Metadata>((resolve) => {
    server.addService(
      { ...loadDataflow() },
      {
        Stream: (call: ServerDuplexStream<unknown, unknown>) => {
          resolve(call.metadata)
          call.emit('error', { code: status.FAILED_PRECONDITION, details: 'no' })
        },
      },
    )
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound)
      else reject(error)
    })
  })
  const options = { ...shared, url: `127.0.0.1:${port}`, connection: { insecure: true }, tenant: 'any', project: 'any' }
  await lastValueFrom(dataflow(options)([new Uint8Array(320)])).catch(() => undefined)
  server.forceShutdown()
  return metadata
}

const withSdk = async (): Promise<void> => {
  const collector = await startCollector()
  cleanups.push(() => collector.close())
}

describe('without an SDK', () => {
  it('a client sends no header, not even with the package', async () => {
    expect(await upgradeHeaders()).not.toHaveProperty('traceparent')
    expect((await callMetadata()).get('traceparent')).toEqual([])
  })

  it('a client sends one with an SDK', async () => {
    await withSdk()
    expect(await upgradeHeaders()).toHaveProperty('traceparent', expect.stringMatching(/^00-[\da-f-]{50}01$/))
    expect((await callMetadata()).get('traceparent')).toEqual([expect.stringMatching(/^00-[\da-f-]{50}01$/)])
  })

  it('there are no spans, and engines are not wrapped', () => {
    const span = beginLocalSpan(openTelemetry, { name: 'any', kind: 'internal' })
    expect(span).toBeUndefined()
    const engine = scriptedEngine({ texts: ['hello'] })
    expect(traceSegments(engine, span)).toBe(engine)
  })
})

describe('a service without an SDK', () => {
  it('passes the header of its client on', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const span = beginRemoteSpan(openTelemetry, traceparent, { name: 'any', kind: 'server' })
    expect(span?.child({ name: 'any', kind: 'internal' })?.traceparent).toBe(traceparent)
    expect(beginRemoteSpan(openTelemetry, 'garbage', { name: 'any', kind: 'server' })).toBeUndefined()
  })
})

describe('with an SDK', () => {
  it('audio passes to the engine as it is', async () => {
    await withSdk()
    const span = beginLocalSpan(openTelemetry, { name: 'any', kind: 'internal' })
    const received: SegmentPart[] = []
    const engine = scriptedEngine({ texts: ['hello'] })
    const watched = {
      ...engine,
      recognize: (): ReturnType<typeof engine.recognize> => (part$) => {
        part$.subscribe((part) => received.push(part))
        return new Subject()
      },
    }
    const part$ = new Subject<SegmentPart>()
    part$.pipe(traceSegments(watched, span).recognize()).subscribe()
    const part: SegmentPart = { type: 'audio', samples: new Int16Array(160) }
    part$.next({ type: 'open', startMs: 0 })
    part$.next(part)
    expect(received).toHaveLength(2)
    expect(received[0]).toHaveProperty('traceparent')
    expect(received[1]).toBe(part)
  })
})

describe('a page', () => {
  it('is told that it cannot trace', () => {
    const options = { url: 'wss://speech.example.com', model: 'any', token: 'token', format, openTelemetry }
    expect(() => recognizeInBrowser(options)).toThrow(
      expect.objectContaining({
        code: 'invalid-options',
        message: expect.stringContaining('openTelemetry') as string,
      }),
    )
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('a service with engine processes'), () => {
  it('sends them no header without an SDK, and one with it', async () => {
    const fleet = await LiveFleet.start()
    cleanups.push(() => fleet.close())
    await fleet.startEngine()
    const service = await fleet.startService()
    const opens: (EngineRequest & { readonly type: 'open' })[] = []
    const subscription = fleet.bus.messages('rxspeech.engine.>').subscribe(({ payload }) => {
      const request = decodeRequest(payload)
      if (request?.type === 'open') opens.push(request)
    })
    cleanups.push(() => subscription.unsubscribe())
    await callThrough(service, { speed: 8, openTelemetry })
    expect(opens.length).toBeGreaterThan(0)
    for (const open of opens) expect(open).not.toHaveProperty('traceparent')
    opens.splice(0)
    await withSdk()
    await callThrough(service, { speed: 8 })
    expect(opens.length).toBeGreaterThan(0)
    for (const open of opens) expect(open).toHaveProperty('traceparent')
  })
})
