import { happeningsOf } from '../../../../test/client/happenings.js'
import { Metadata, Server, ServerCredentials, status, type ServerDuplexStream } from '@grpc/grpc-js'
import { createSecureServer } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import { connect, createServer as createTcp, type Server as TcpServer, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { WebSocketServer } from 'ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import { contentType } from '../../../../src/protocol/dataflow-messages.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { ResumptionOptions } from '../../../../src/client/options.js'
import type { Recognition } from '../../../../src/client/session.js'
import { loadDataflow } from '../../../../src/transport/grpc/proto.js'
import type { DataflowMessage } from '../../../../src/transport/link.js'
import { testCertificates, type TestCertificates } from '../test-certificates.js'
import { freePort, listen, stop } from '../../../../test/transport/tcp-proxy.js'

type Over = 'websocket' | 'grpc'
type Headers = Readonly<Record<string, string>>

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
const quick: ResumptionOptions = { firstDelayMs: 1 }

let tls: TestCertificates
const ending: (() => unknown)[] = []
beforeAll(async () => void (tls = await testCertificates()))
afterAll(async () => {
  for (const end of ending.reverse()) await end()
})

const keyOf = ({ key, certificate }: TestCertificates): { key: string; cert: string } => ({ key, cert: certificate })

const listening = async (server: TcpServer): Promise<number> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.on('tlsClientError', () => undefined)
  ending.push(() => {
    sockets.forEach((socket) => socket.destroy())
    return stop(server)
  })
  return listen(server)
}

/** Forwards the nth connection to the nth port, and every further one to the last. */
const answeringInOrder = async (
  ...ports: readonly number[]
): Promise<{ readonly port: number; readonly taken: () => number }> => {
  let taken = 0
  const server = createTcp((near) => {
    const far = connect(ports[Math.min(taken, ports.length - 1)] ?? 0, '127.0.0.1')
    taken += 1
    far.on('error', () => undefined)
    near.pipe(far).pipe(near)
    near.on('close', () => far.destroy())
    // A connection that breaks behind it breaks before it.
    far.on('close', () => (near.closed ? undefined : near.resetAndDestroy()))
  })
  return { port: await listening(server), taken: () => taken }
}

/** Answers every request with this status, over HTTP/1.1 or HTTP/2. */
const answering = (over: Over, status: number, headers: Headers = {}): Promise<number> => {
  if (over === 'grpc') {
    const server = createSecureServer(keyOf(tls))
    server.on('sessionError', () => undefined)
    server.on('stream', (stream) => {
      stream.on('error', () => undefined)
      stream.respond({ ':status': status, ...headers })
      stream.end('later')
    })
    return listening(server)
  }
  const server = createHttps(keyOf(tls))
  server.on('upgrade', (_request, socket: Socket) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} No\r\n${lines.join('')}Content-Length: 5\r\nConnection: close\r\n\r\nlater`)
  })
  return listening(server)
}

/** Sends its certificate and then breaks the connection. */
const breakingOff = (): Promise<number> =>
  listening(createTls({ ...keyOf(tls), ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => socket.destroy()))

/** Sends GOAWAY immediately, or at the first stream. */
const goingAway = (when: 'session' | 'stream'): Promise<number> => {
  const server = createSecureServer(keyOf(tls))
  server.on('sessionError', () => undefined)
  if (when === 'session') server.on('session', (session) => session.goaway(0))
  else
    server.on('stream', (stream) => {
      stream.on('error', () => undefined)
      stream.session?.goaway(0, 0)
      stream.session?.destroy()
    })
  return listening(server)
}

/** A service that sends one final; `first` is the result of the first start. */
const service = async (over: Over, first = 'success'): Promise<number> => {
  let starts = 0
  const answer = (): string => {
    starts += 1
    return starts === 1 ? first : 'success'
  }
  return over === 'grpc' ? grpcService(answer) : socketService(answer)
}

const socketService = async (answer: () => string): Promise<number> => {
  const server = createHttps(keyOf(tls))
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    const send = (name: string, fields: Headers): void =>
      socket.send(JSON.stringify({ 'message-name': name, ...fields }))
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) return
      const { 'message-name': name } = JSON.parse(data.toString()) as Headers
      if (name === 'recognize') send('recognize-response', { 'operation-result': answer() })
      else send('final-result', { 'operation-result': 'Success', text: 'hello' })
    })
  })
  return listening(server)
}

const grpcService = async (answer: () => string, retryAfter?: string): Promise<number> => {
  const server = new Server()
  const messageOf = (type: number, content: object): DataflowMessage => ({
    contentType: type,
    content: JSON.stringify(content),
    binaryContent: new Uint8Array(0),
  })
  const Stream = (call: ServerDuplexStream<DataflowMessage, DataflowMessage>): void => {
    call.on('error', () => undefined)
    call.on('data', ({ contentType: type }: DataflowMessage) => {
      if (type !== contentType.request) return
      call.write(messageOf(contentType.response, { 'operation-result': answer() }))
      if (retryAfter === undefined) return
      const metadata = new Metadata()
      metadata.set('retry-after', retryAfter)
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'overloaded: Full.', metadata })
    })
    call.on('end', () => {
      call.write(messageOf(contentType.event, { Name: 'SR Final', Channel: 0, Data: { Text: 'hello' } }))
      call.end()
    })
  }
  server.addService({ ...loadDataflow() }, { Stream })
  const pair = { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createSsl(null, [pair]), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  ending.push(() => server.forceShutdown())
  return port
}

const sessionAt = (over: Over, port: number, resumption: boolean | ResumptionOptions): Recognition => {
  const common = { token: 'a-token', format, resumption, testing: { random: () => 1 } }
  return over === 'grpc'
    ? dataflow({ ...common, url: `127.0.0.1:${port}`, connection: { ca: tls.ca }, tenant: 't', project: 'p' })
    : recognize({ ...common, url: `wss://127.0.0.1:${port}`, connection: { ca: tls.ca }, model: 'm' })
}

interface Outcome {
  readonly states: readonly string[]
  readonly events: readonly SessionEvent[]
  readonly error: SpeechError | undefined
}

/** Resolves when the session ends, or waits longer than a test may take. */
const outcomeOf = (session: Recognition): Promise<Outcome> =>
  new Promise((resolve) => {
    const events: SessionEvent[] = []
    const result = (error?: SpeechError): void => {
      const states = events.flatMap((event) => happeningsOf(event))
      resolve({ states, events, error })
    }
    const subscription = session([new Uint8Array(320)]).subscribe({
      next: (event) => {
        events.push(event)
        if (event.type !== 'connection' || event.state !== 'reconnecting' || event.delayMs < 500) return
        queueMicrotask(() => subscription.unsubscribe())
        result()
      },
      error: result,
      complete: () => result(),
    })
  })

const waits = ({ events }: Outcome): readonly (readonly [attempt: number, cause: string, delayMs: number])[] =>
  events.flatMap((event) =>
    event.type === 'connection' && event.state === 'reconnecting' ? [[event.attempt, event.cause, event.delayMs]] : [],
  )

const good = ['authorizing', 'connecting', 'reconnecting', 'streaming', 'finalizing', 'done']
const goodFromStarting = ['authorizing', 'connecting', 'starting', ...good.slice(2)]
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toUTCString()

// Over gRPC most of the time is the second that its package waits before another attempt.
describe.concurrent.each<Over>(['websocket', 'grpc'])('the first connection of a session over %s', (over) => {
  // Over gRPC the connection is open before the answer.
  const afterAnswer = over === 'grpc' ? goodFromStarting : good

  it.each([429, 503, 502, 504])('is tried again after HTTP %d', async (status) => {
    const port = await answeringInOrder(await answering(over, status), await service(over))
    const run = await outcomeOf(sessionAt(over, port.port, quick))
    expect([run.error, run.states]).toEqual([undefined, afterAnswer])
    expect(waits(run)).toEqual([[1, status === 429 || status === 503 ? 'overloaded' : 'connection-lost', 1]])
    expect(port.taken()).toBe(2)
  })

  it.each([
    ['429 with seconds', 429, () => '7', 7_000],
    ['503 with seconds', 503, () => '7', 7_000],
    ['503 with a date', 503, () => inSeconds(30), 30_000],
  ])('waits as long as Retry-After requires: %s', async (_what, status, retryAfter, delayMs) => {
    const beganMs = performance.now()
    const run = await outcomeOf(sessionAt(over, await answering(over, status, { 'retry-after': retryAfter() }), quick))
    const tookMs = performance.now() - beganMs
    const [[attempt, cause, waited] = [0, '', 0]] = waits(run)
    expect([attempt, cause]).toEqual([1, 'overloaded'])
    // A date has no fractions of a second.
    expect(waited).toBeGreaterThan(delayMs - 2_000 - tookMs)
    expect(waited).toBeLessThanOrEqual(delayMs)
  })

  it('fails immediately if Retry-After exceeds the budget', async () => {
    const port = await answering(over, 503, { 'retry-after': '61' })
    const { states, error } = await outcomeOf(sessionAt(over, port, quick))
    expect(error).toMatchObject({ code: 'overloaded', retryAfterMs: 61_000 })
    expect(states).not.toContain('reconnecting')
  })

  it('is tried again after a peer that breaks the connection after its TLS handshake', async () => {
    const port = await answeringInOrder(await breakingOff(), await breakingOff(), await service(over))
    const run = await outcomeOf(sessionAt(over, port.port, quick))
    // The gRPC package may start its own attempt meanwhile, so the number of ours is not fixed.
    expect([run.error, run.states.filter((state, index) => state !== run.states[index - 1])]).toEqual([undefined, good])
    expect(new Set(waits(run).map(([, cause]) => cause))).toEqual(new Set(['connection-lost']))
    expect(port.taken()).toBeGreaterThan(2)
  })

  it.each(['overloaded', 'going-away'])('is tried again after a start that is answered by %s', async (code) => {
    const run = await outcomeOf(sessionAt(over, await service(over, `${code}: Later.`), quick))
    expect([run.error, run.states]).toEqual([undefined, goodFromStarting])
    expect(waits(run)).toEqual([[1, code, 1]])
    const answers = run.events.flatMap((event) => (event.type === 'response' ? [event.success] : []))
    expect(answers.slice(0, 2)).toEqual([false, true])
  })

  it.each([
    ['429', (): Promise<number> => answering(over, 429, { 'retry-after': '7' }), 'overloaded'],
    ['a break after TLS', breakingOff, 'connection-lost'],
    [
      'a start that is rejected with overloaded',
      (): Promise<number> => service(over, 'overloaded: Full.'),
      'overloaded',
    ],
  ])('fails immediately after %s with resumption off', async (_what, serve, code) => {
    const { states, error } = await outcomeOf(sessionAt(over, await serve(), false))
    expect([error?.code, states.at(-1)]).toEqual([code, 'failed'])
    expect(states).not.toContain('reconnecting')
  })

  it.each([
    ['a port on which nothing listens', freePort, 'connection-failed'],
    ['404', (): Promise<number> => answering(over, 404), over === 'grpc' ? 'protocol-violation' : 'refused'],
    ['a refused token', (): Promise<number> => answering(over, 401), 'unauthenticated'],
    ['a start that is rejected', (): Promise<number> => service(over, 'internal: Broken.'), 'internal'],
  ])('fails immediately after %s', async (_what, serve, code) => {
    const { states, error } = await outcomeOf(sessionAt(over, await serve(), quick))
    expect([error?.code, states.at(-1)]).toEqual([code, 'failed'])
    expect(states).not.toContain('reconnecting')
  })
})

describe('the first connection of a session over gRPC', () => {
  it('waits as long as the status requires after a start that is rejected', async () => {
    const run = await outcomeOf(sessionAt('grpc', await grpcService(() => 'overloaded: Full.', '7'), quick))
    expect(waits(run)).toEqual([[1, 'overloaded', 7_000]])
    expect(run.events.flatMap((event) => (event.type === 'response' ? [event.success] : []))).toEqual([false])
  })

  it('fails immediately if the status of a rejected start requires a wait beyond the budget', async () => {
    const port = await grpcService(() => 'overloaded: Full.', '61')
    const { error } = await outcomeOf(sessionAt('grpc', port, quick))
    expect(error).toMatchObject({ code: 'overloaded', message: 'Full.', retryAfterMs: 61_000 })
  })

  it.each(['session', 'stream'] as const)('is tried again after GOAWAY to its %s', async (when) => {
    const port = await answeringInOrder(await goingAway(when), await service('grpc'))
    const run = await outcomeOf(sessionAt('grpc', port.port, quick))
    expect(run.error).toBeUndefined()
    expect(run.states.filter((state) => state !== 'starting')).toEqual(good)
    expect(waits(run)).toEqual([[1, 'connection-lost', 1]])
  })
})
