import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ServerDuplexStream,
} from '@grpc/grpc-js'
import { concat, lastValueFrom, materialize, map, NEVER, of, Subject, tap, toArray } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentType } from '../../../src/protocol/dataflow-messages.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import { dataflow } from '../../../src/client/dataflow/dataflow.js'
import { grpcServerLink } from '../../../src/transport/grpc/server.js'
import { loadDataflow } from '../../../src/transport/grpc/proto.js'
import { endTrailer, orderlyEnd, orderlyEndOf } from '../../../src/transport/grpc/errors.js'
import type { CloseReason, DataflowMessage } from '../../../src/transport/link.js'

type ServerCall = ServerDuplexStream<DataflowMessage, DataflowMessage>

const response = (name: string): DataflowMessage => ({
  contentType: contentType.response,
  content: JSON.stringify({ MessageName: name, 'operation-result': 'success' }),
  binaryContent: new Uint8Array(0),
})
const going: CloseReason = { code: 'going-away', message: 'The service ends; connect again.', orderly: true }

describe('orderlyEnd', () => {
  it('sends the reason in one trailer of limited size, which is read as the error that it names', () => {
    expect(orderlyEnd(going).get(endTrailer)).toEqual(['going-away: The service ends; connect again.'])
    expect(orderlyEndOf(orderlyEnd(going))).toMatchObject({
      code: 'going-away',
      message: going.message,
      retryable: true,
    })
    const [long] = orderlyEnd({ ...going, message: 'e'.repeat(2_000) }).get(endTrailer)
    expect(String(long)).toHaveLength(512)
  })

  it('is not read where a service sends no reason, or an unknown code', () => {
    const trailers = new Metadata()
    expect(orderlyEndOf(trailers)).toBeUndefined()
    trailers.set(endTrailer, 'tea-time: Back at five.')
    expect(orderlyEndOf(trailers)).toBeUndefined()
  })
})

describe('a stream that the service ends with OK, unrequested', () => {
  let server: Server
  let address: string
  let calls: number
  /** How the first stream ends after its audio. */
  let reason: CloseReason | undefined

  beforeEach(async () => {
    calls = 0
    server = new Server()
    const Stream = (call: ServerCall): void => {
      const nth = (calls += 1)
      const link = grpcServerLink(call)
      link.incoming$.subscribe({
        next: (message) => {
          if (message.contentType === contentType.request) link.send(response('StartResponse'))
          else if (nth === 1) link.close(reason)
        },
        complete: () => link.close(),
        error: () => undefined,
      })
    }
    server.addService({ ...loadDataflow() }, { Stream })
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      )
    })
    address = `127.0.0.1:${port}`
  })
  afterEach(() => server.forceShutdown())

  /** The events of a session of half a second of audio, which is finalized once it streams again. */
  const labelsOf = (continuous = true): Promise<readonly string[]> => {
    const finalize$ = new Subject<void>()
    const label = (event: SessionEvent): string => {
      if (event.type !== 'connection') return event.type
      return event.state === 'reconnecting' ? `reconnecting for ${event.cause}` : event.state
    }
    const session$ = dataflow({
      url: address,
      connection: { insecure: true },
      tenant: 'T',
      project: 'p',
      token: 'any',
      format: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 },
      resumption: { firstDelayMs: 1, maxDelayMs: 1 },
      finalize$,
      finalizeBy: 'half-close',
      continuous,
    })(concat(of(new Uint8Array(8_000)), NEVER))
    return lastValueFrom(
      session$.pipe(
        tap((event) => {
          if (event.type === 'resumed') finalize$.next()
        }),
        map(label),
        materialize(),
        map((note) => (note.kind === 'N' ? note.value : note.kind === 'C' ? 'complete' : String(note.error))),
        toArray(),
        map((all) =>
          all.filter((item) => !['ledger', 'response', 'authorizing', 'connecting', 'starting'].includes(item)),
        ),
      ),
    )
  }

  it('continues on another connection if its trailer has a reason', async () => {
    reason = going
    expect(await labelsOf()).toEqual([
      'streaming',
      'reconnecting for going-away',
      'streaming',
      'resumed',
      'finalizing',
      'done',
      'complete',
    ])
    expect(calls).toBe(2)
  })

  it('ends without a trailer, and the audio sent has no result', async () => {
    reason = undefined
    expect(await labelsOf(false)).toEqual(['streaming', 'gap', 'done', 'complete'])
    expect(calls).toBe(1)
  })

  it.each([
    [going, status.OK, 'going-away: The service ends; connect again.'],
    [{ code: 'going-away', message: 'Now.' } as const, status.UNAVAILABLE, undefined],
    [undefined, status.OK, undefined],
  ])('has the status of %j', async (why, code, trailer) => {
    reason = why
    const { path, requestSerialize, responseDeserialize } = loadDataflow().Stream
    const client = new Client(address, credentials.createInsecure())
    const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, new Metadata(), {})
    call.on('error', () => undefined)
    call.resume()
    call.write({ contentType: contentType.audio, content: '', binaryContent: new Uint8Array(2) })
    const ended = await new Promise<{ readonly code: number; readonly metadata: Metadata }>((resolve) =>
      call.once('status', resolve),
    )
    client.close()
    expect([ended.code, ended.metadata.get(endTrailer)[0]]).toEqual([code, trailer])
  })
})
