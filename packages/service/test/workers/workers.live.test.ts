import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { json } from 'node:stream/consumers'
import { once } from 'node:events'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { firstValueFrom } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import type { OperationsReport } from '../../../server/src/operations/operations.js'
import { tokenIdOf } from '../../../server/src/identity/tokens/token-claims.js'
import { startService } from '../../src/start/service.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  bothTransports,
  expectSame,
  type CallOutcome,
  proxiedSession,
  SpokenCall,
  statesOf,
  undisturbed,
} from '../faults/spoken-call.js'
import { credentialsOf } from '../interop/live-service.js'
import { openStream, plainClient } from '../interop/plain-dataflow-client.js'
import { openSocket, type PlainSocket } from '../interop/plain-socket-client.js'
import { proxyHeaderOf } from '../../../server/test/listen/http2-peer.js'
import { recognizeOf, startOf } from '../plain-service.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { serviceOfWorkers, type ServiceOfWorkers } from './service-of-workers.js'
import { first } from '../../../../test/thorough.js'

const close: (() => void)[] = []
const closeAll = (): void => {
  for (const end of close.splice(0)) end()
}
afterEach(closeAll)

// A process takes about a second to start, so all tests up to the last one have the same service.
describe('a service of two workers', () => {
  let live: ServiceOfWorkers
  const maxSessions = 5
  beforeAll(async () => {
    live = await serviceOfWorkers({
      limits: { sessionsPerToken: maxSessions },
      identity: { bruteForce: { failuresPerMinute: 3 } },
      operations: { host: '127.0.0.1', port: 0 },
    })
  })
  afterAll(() => live.close())
  let hasEnded = false
  afterEach(async () => {
    closeAll()
    if (!hasEnded) await expect.poll(() => value('rxspeech_sessions{')).toBe(0)
    seen = live.logged('Session started').length
  })

  const recognizing = async (token = live.token): Promise<PlainSocket> => {
    const socket = await openSocket(live, { token })
    close.push(() => socket.raw.terminate())
    socket.send(recognizeOf({ 'model-name': 'call' }))
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    return socket
  }

  /** A session over a connection of its own, or its refusal. */
  const streaming = async (token = live.token) => {
    const client = plainClient(live, { 'grpc.use_local_subchannel_pool': 1 })
    const stream = openStream(client)
    close.push(() => {
      stream.stream.cancel()
      client.close()
    })
    stream.request(startOf(token))
    await stream.answered
    return stream
  }

  const tokenBy = (clientSecret: string): Promise<string> =>
    firstValueFrom(
      requestToken({ ...credentialsOf(live.service.access), clientSecret, fetch: nodeFetch({ ca: live.ca }) }),
    ).then(({ accessToken }) => accessToken)

  /** The sum of a metric's values. */
  const value = async (metric: string): Promise<number> => {
    const page = await (await fetch(`${live.service.operationsUrl ?? ''}/metrics`)).text()
    const lines = page.split('\n').filter((line) => line.startsWith(metric))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** How many sessions the tests before had. */
  let seen = 0
  /** The workers of the first sessions of a test, whose lines in the log can be late. */
  const workersOf = async (count: number): Promise<readonly unknown[]> => {
    const started = () => live.logged('Session started').slice(seen, seen + count)
    await expect.poll(() => started().length).toBe(count)
    return started()
      .map(({ worker }) => worker)
      .sort()
  }

  it('gives each new connection to the worker with fewer sessions, on both transports', async () => {
    await expect.poll(() => value('rxspeech_ready ')).toBe(1)
    for (const begin of [recognizing, streaming, recognizing, streaming]) await begin()
    expect(await workersOf(4)).toEqual([1, 1, 2, 2])
  })

  it('has one list of slow sessions, those of all workers', async () => {
    for (const begin of [recognizing, recognizing]) await begin()
    expect(await workersOf(2)).toEqual([1, 2])
    const running = async (): Promise<readonly unknown[]> => {
      const response = await fetch(`${live.service.operationsUrl ?? ''}/operations.json`)
      const { sessions } = (await response.json()) as OperationsReport
      return sessions.filter(({ isRunning }) => isRunning).map(({ sessionId }) => sessionId)
    }
    const started = live.logged('Session started').slice(seen)
    expect(new Set(await running())).toEqual(new Set(started.map(({ sessionId }) => sessionId)))
  })

  it('admits exactly as many sessions as allowed when many start at once on all workers', async () => {
    const attempts = await Promise.all([
      ...Array.from({ length: 8 }, () =>
        recognizing().then(
          () => 'success',
          (error: unknown) => String(error),
        ),
      ),
      ...Array.from({ length: 8 }, async () => (await streaming()).responses[0]?.['operation-result']),
    ])
    const refused = attempts.filter((result) => result !== 'success')
    expect(refused).toHaveLength(16 - maxSessions)
    for (const result of refused) expect(result).toContain(`The token has ${maxSessions} sessions, its limit`)
  })

  it('has one page of metrics, and nothing that counts for a worker that was killed', async () => {
    const startedBefore = await value('rxspeech_sessions_started_total')
    for (let session = 0; session < maxSessions; session += 1) await recognizing()
    await expect(recognizing()).rejects.toThrow(`The token has ${maxSessions} sessions, its limit`)
    const running = 'rxspeech_sessions{interface="websocket",state="running"}'
    expect(await value(running)).toBe(maxSessions)
    expect(await value('rxspeech_sessions_started_total')).toBe(startedBefore + maxSessions)
    expect(await value('rxspeech_workers ')).toBe(2)

    const lost = (await workersOf(maxSessions)).filter((worker) => worker === 1).length
    live.kill(1)
    await expect.poll(() => live.logged('Worker ended').length).toBe(1)
    expect(await value('rxspeech_sessions_started_total')).toBe(startedBefore + maxSessions)
    expect(await value(running)).toBe(maxSessions - lost)
    expect((await fetch(`${live.service.operationsUrl ?? ''}/readyz`)).status).toBe(200)
    for (let session = 0; session < lost; session += 1) await recognizing()
    await expect(recognizing()).rejects.toThrow(`The token has ${maxSessions} sessions, its limit`)

    await expect.poll(() => value('rxspeech_workers ')).toBe(2)
    expect(await value('rxspeech_worker_restarts_total ')).toBe(1)
  })

  let reference: CallOutcome | undefined
  it.each(first(1, bothTransports))('loses no audio and no word over %s when a worker is killed', async (over) => {
    const call = await SpokenCall.shortCall()
    reference ??= await undisturbed(live, call)
    const { proxy, session } = await proxiedSession(live, over, call)
    const source$ = call.played(8, 1_800, () => {
      for (const worker of over === 'grpc' ? [live.lastWorker()] : [1, 2]) live.kill(worker)
    })
    const outcome = await outcomeOf(session(source$))
    await proxy.close()
    expectSame({ over, ...outcome }, reference, call)
    expect(statesOf(outcome.events)).toContain('reconnecting')
    await expect.poll(() => value('rxspeech_workers ')).toBe(2)
    await expect.poll(() => value('rxspeech_ready ')).toBe(1)
  })

  it('reads recordings of dialects on any worker, with the id of the session in the log', async () => {
    const samples = Buffer.from(await spoken(1_500))
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    const recording = Buffer.concat([wavHeader(format, samples.length), samples])
    const send = async () => {
      const headers = { Authorization: `Token ${live.token}`, 'Content-Type': 'audio/wav' }
      const url = `${live.service.access.authUrl}/v1/listen?model=nova-3`
      const request = httpsRequest(url, { method: 'POST', ca: live.ca, headers, agent: false }).end(recording)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const body = (await json(response)) as { readonly metadata: { readonly request_id: string } }
      expect(body.metadata.request_id).toBe(response.headers['dg-request-id'])
      return response.headers['dg-request-id']
    }
    await recognizing()
    const id = await send()
    // The worker with fewer sessions has it.
    expect(await workersOf(2)).toEqual([1, 2])
    expect(live.logged('Session started').at(-1)).toMatchObject({ sessionId: id, interface: 'http' })
  })

  it('counts wrong secrets on all workers', async () => {
    const attempt = (): Promise<string> =>
      tokenBy('not the secret of this client').then(
        () => 'token',
        (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : ''),
      )
    const results: string[] = []
    for (let count = 0; count < 4; count += 1) {
      // The worker with fewer sessions changes, so that the attempts reach both.
      await recognizing()
      results.push(await attempt())
    }
    expect(results).toEqual(['invalid-client', 'invalid-client', 'invalid-client', 'too-many-attempts'])
    expect(await workersOf(4)).toEqual([1, 1, 2, 2])
  })

  it('ends the sessions of a revoked token on all workers at once, and refuses the token', async () => {
    const token = await tokenBy(live.service.access.clientSecret)
    const [socket, other, stream] = [await recognizing(token), await recognizing(token), await streaming(token)]
    expect(new Set(await workersOf(2))).toEqual(new Set([1, 2]))
    await live.service.revoke(tokenIdOf(token) ?? '')
    const ends = await Promise.all([
      stream.ended.then(({ status }) => status),
      ...[socket, other].map(async (one) => {
        let message = await one.receive()
        while (!('close' in message)) message = await one.receive()
        return message['close']
      }),
    ])
    expect(ends).toEqual(['UNAUTHENTICATED', 4401, 4401])
    await expect(openSocket(live, { token })).rejects.toThrow(/^HTTP 401.*revoked/s)
  })

  it('drains all workers: sessions get their finals, and new ones are refused', async () => {
    const sockets = [await recognizing(), await recognizing()]
    expect(await workersOf(2)).toEqual([1, 2])
    const speech = await spoken(3_500)
    for (const socket of sockets) socket.audio(speech)
    for (const socket of sockets) expect(await socket.receive()).toMatchObject({ 'message-name': 'partial-result' })
    const closing = live.service.close({ drainMs: 5_000 })
    await expect(openSocket(live)).rejects.toThrow(/^HTTP 503/)
    expect(await (await fetch(`${live.service.operationsUrl ?? ''}/readyz`)).text()).toContain('draining')
    for (const socket of sockets) {
      let message = await socket.receive()
      while (message['message-name'] !== 'final-result') message = await socket.receive()
      expect(message['text']).toBe('good evening harbor grill how can i help you')
      expect(await socket.receive()).toMatchObject({ close: 1001 })
    }
    await closing
    hasEnded = true
  })
})

describe('the connections of several workers', () => {
  let live: ServiceOfWorkers
  beforeAll(async () => {
    live = await serviceOfWorkers({ trustedProxies: ['127.0.0.2'], limits: { connectionsPerAddress: 2 } })
  })
  afterAll(() => live.close())

  /** The first line of the answer to a request over a new connection. */
  const ask = async (localAddress: string, header?: Buffer): Promise<string> => {
    const raw = connect({ port: Number(new URL(live.service.wsUrl).port), host: '127.0.0.1', localAddress })
    if (header !== undefined) raw.write(header)
    const socket: TLSSocket = connectTls({ socket: raw, ca: live.ca, servername: 'localhost' })
    close.push(() => socket.destroy())
    socket.write('GET /jwks HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return bytes.toString().split('\r\n', 1)[0] ?? ''
  }
  const [ok, tooMany] = ['HTTP/1.1 200 OK', 'HTTP/1.1 429 Too Many Requests']

  it('are counted together by address', async () => {
    const answers: string[] = []
    for (let count = 0; count < 4; count += 1) answers.push(await ask('127.0.0.1'))
    expect(answers).toEqual([ok, ok, tooMany, tooMany])
    closeAll()
    await expect.poll(() => ask('127.0.0.1')).toBe(ok)
  })

  it('are counted by the address that a trusted proxy reports', async () => {
    const answers: string[] = []
    for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'])
      answers.push(await ask('127.0.0.2', proxyHeaderOf(address)))
    expect(answers).toEqual([ok, ok, tooMany, ok])
  })
})

describe('startService with several workers', () => {
  it('refuses options that no other process can get, and numbers out of range', async () => {
    await expect(startService({ modelFolders: [], workers: 2, nodes: [] })).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(/^nodes cannot be set with several workers/),
    })
    await expect(startService({ modelFolders: [], workers: 0 })).rejects.toMatchObject({
      message: 'workers must be a whole number from 1 to 256, or auto, not 0.',
    })
  })
})
