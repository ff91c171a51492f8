import { constants, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { switchMap } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SpeechError } from '../../../src/errors/speech-error.js'
import { dialGrpc } from '../../../src/transport/grpc/client.js'
import { first } from '../../thorough.js'
import { portOf, tcpProxy } from '../tcp-proxy.js'

/** The server answers within this time, in the same process, also when other processes use the machine. */
const heartbeatMs = 1_000

/** How a server reacts to a client's first ping, if it objects. */
type ServerBehavior = (session: ServerHttp2Session) => void
const goAway: ServerBehavior = (session) => {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from('too_many_pings'))
}
const goAwayAndCut: ServerBehavior = (session) => {
  goAway(session)
  session.destroy()
}
let server: Http2Server
let address: string
let behavior: ServerBehavior | undefined
/** Number of pings on each connection. */
let pings: number[]
let sockets: Set<Socket>

beforeEach(async () => {
  pings = []
  behavior = undefined
  sockets = new Set()
  server = createServer()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('sessionError', () => undefined)
  server.on('session', (session) => {
    const nth = pings.push(0) - 1
    session.on('error', () => undefined)
    session.on('ping', () => {
      pings[nth] = (pings[nth] ?? 0) + 1
      behavior?.(session)
    })
  })
  server.on('stream', (stream) => {
    stream.on('error', () => undefined)
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `127.0.0.1:${portOf(server)}`
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

/** Runs a call until the server ends it, and resolves with the error; `whileOpen` may end it before. */
const callOf = (whileOpen?: Promise<void>, to = address): Promise<SpeechError | 'left'> =>
  new Promise((resolve) => {
    const subscription = dialGrpc({ url: to, insecure: true, heartbeatMs })
      .pipe(switchMap((link) => link.incoming$))
      .subscribe({ error: resolve })
    void whileOpen?.then(() => {
      subscription.unsubscribe()
      resolve('left')
    })
  })

const pinged = (count: number): Promise<void> =>
  expect.poll(() => pings.reduce((sum, ping) => sum + ping, 0)).toBeGreaterThanOrEqual(count)

const somePeriods = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3 * heartbeatMs))

describe('heartbeatMs', () => {
  it('pings a server that answers, and keeps the connection', async () => {
    expect(await callOf(pinged(3))).toBe('left')
  })

  it('detects a server that no longer answers, after the same time again', async () => {
    const proxy = await tcpProxy(portOf(server))
    const ended = callOf(undefined, `127.0.0.1:${proxy.port}`)
    await pinged(1)
    proxy.hold()
    expect(await ended).toMatchObject({ code: 'connection-lost', retryable: true })
    await proxy.close()
  })

  it.each(
    first(1, [
      ['reports that pings are too frequent', goAway],
      ['reports that and cuts the connection', goAwayAndCut],
    ] as const),
  )('is disabled for an address whose server %s, and only for that address', async (_what, serverBehavior) => {
    behavior = serverBehavior
    const written = vi.spyOn(console, 'error')
    expect(await callOf()).toMatchObject({ code: 'connection-lost', retryable: true })
    expect(pings).toEqual([1])
    // The package would write a line to the standard error of the application.
    expect(written).not.toHaveBeenCalled()
    written.mockRestore()
    behavior = undefined
    expect(await callOf(somePeriods())).toBe('left')
    expect(pings).toEqual([1, 0])
    // With another host name it is another address.
    expect(await callOf(pinged(2), address.replace('127.0.0.1', 'localhost'))).toBe('left')
  })
})
