import { createServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import type { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Link, SocketMessage } from '../../../../src/transport/link.js'
import { dialWebSocket } from '../../../../src/transport/websocket/client.js'
import type { WebSocketDialOptions } from '../../../../src/transport/websocket/dial.js'
import { testCertificates } from '../test-certificates.js'
import { FakeBrowserSocket } from '../../../../test/transport/websocket/fake-browser-socket.js'
import { listen, stop } from '../../../../test/transport/tcp-proxy.js'

const errorOf = (options: WebSocketDialOptions): Promise<SpeechError> =>
  new Promise((resolve, reject) => {
    dialWebSocket(options).subscribe({ next: () => reject(new Error('It connected.')), error: resolve })
  })

const linkOf = (options: WebSocketDialOptions): Promise<Link<SocketMessage, SocketMessage>> =>
  new Promise((resolve, reject) => {
    dialWebSocket(options).subscribe({ next: resolve, error: reject })
  })

describe('dialWebSocket', () => {
  let closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    await Promise.all(closing.map((close) => close()))
    closing = []
  })

  const answering = async (answer: RequestListener): Promise<string> => {
    const server = createServer(answer)
    server.on('upgrade', (request, socket) => {
      const refuse = (status: number, headers: Record<string, string>, body: string): void => {
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
        socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('')}Connection: close\r\n\r\n${body}`)
      }
      const answered = { headers: {} as Record<string, string>, status: 0 }
      const response = {
        writeHead: (status: number, headers: Record<string, string> = {}) => {
          Object.assign(answered, { status, headers })
          return response
        },
        end: (body = '') => refuse(answered.status, answered.headers, body),
      }
      answer(request, response as never)
    })
    const port = await listen(server)
    closing.push(() => stop(server))
    return `ws://127.0.0.1:${port}/recognizer?token=secret`
  }

  it.each([
    [401, {}, '', 'unauthenticated', false, undefined],
    [403, {}, 'Forbidden', 'tenant-denied', false, undefined],
    [403, {}, 'model-denied: Use the model English.', 'model-denied', false, undefined],
    [429, { 'Retry-After': '7' }, '', 'overloaded', true, 7000],
    [503, {}, '', 'overloaded', true, undefined],
    [503, { 'Retry-After': 'soon' }, '', 'overloaded', true, undefined],
    [500, {}, 'x'.repeat(5000), 'connection-failed', true, undefined],
    [302, { Location: 'ws://127.0.0.1:1/' }, '', 'refused', false, undefined],
    [404, {}, 'not found', 'refused', false, undefined],
    [426, { Upgrade: 'websocket' }, 'Upgrade Required', 'refused', false, undefined],
    [200, {}, 'hello', 'refused', false, undefined],
  ])('reads a response of HTTP %d %j %.20s as %s', async (status, headers, body, code, retryable, retryAfterMs) => {
    const url = await answering((_request, response) => response.writeHead(status, headers).end(body))
    const error = await errorOf({ url })
    expect(error).toMatchObject({ code, retryable })
    expect(error.retryAfterMs).toBe(retryAfterMs)
    expect(error.message).not.toContain('secret')
  })

  it('sends headers and subprotocols, and passes on the path and the query', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server })
    closing.push(() => stop(server))
    const port = await listen(server)
    const asked = new Promise<string[]>((resolve) => {
      sockets.on('connection', (socket, request) => {
        resolve([request.url ?? '', request.headers.authorization ?? '', socket.protocol, socket.extensions])
      })
    })
    const link = await linkOf({
      url: `ws://127.0.0.1:${port}/recognizer?ModelName=English`,
      headers: { Authorization: 'Bearer abc' },
      protocols: ['rxspeech', 'bearer.abc'],
    })
    expect(await asked).toEqual(['/recognizer?ModelName=English', 'Bearer abc', 'rxspeech', ''])
    link.close()
  })

  it('errors with connection-failed when the service chooses none of the subprotocols', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server, handleProtocols: () => false })
    closing.push(() => stop(server))
    const url = `ws://127.0.0.1:${await listen(server)}`
    expect(await errorOf({ url, protocols: ['rxspeech'] })).toMatchObject({
      code: 'connection-failed',
      retryable: false,
      message: expect.stringContaining('a proxy in between must pass on Sec-WebSocket-Protocol') as string,
    })
    sockets.close()
  })

  it.each([404, 426])('names a proxy that removes Upgrade when the answer is HTTP %i', async (status) => {
    const url = await answering((_request, response) => response.writeHead(status).end())
    expect((await errorOf({ url })).message).toMatch(/proxy in between (passes|must pass) on Upgrade/)
  })

  it('errors with connection-failed, not retryable, when the certificate is not trusted', async () => {
    const { key, certificate, ca } = await testCertificates()
    const server = createHttpsServer({ key, cert: certificate })
    const sockets = new WebSocketServer({ server })
    closing.push(() => stop(server))
    const port = await listen(server)
    const error = await errorOf({ url: `wss://127.0.0.1:${port}` })
    expect(error).toMatchObject({ code: 'connection-failed', retryable: false })
    expect(error.message).toContain('not trusted')
    const link = await linkOf({ url: `wss://127.0.0.1:${port}`, ca: [ca] })
    link.close()
    sockets.close()
  })

  it('reports that the port does not speak the protocol', async () => {
    const server = createTcpServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .end('SSH-2.0-OpenSSH\r\n'),
    )
    closing.push(() => stop(server))
    const port = await listen(server)
    expect((await errorOf({ url: `ws://127.0.0.1:${port}` })).message).toContain('does not speak')
    expect((await errorOf({ url: `wss://127.0.0.1:${port}` })).message).toContain('does not speak')
  })

  it('errors with connection-failed for an unknown host name', async () => {
    const error = await errorOf({ url: 'ws://speech.invalid:4000/?token=secret' })
    expect(error).toMatchObject({ code: 'connection-failed', retryable: true })
    expect(error.message).toContain('speech.invalid:4000')
  })

  it.each<[string, WebSocketDialOptions]>([
    ['url', { url: 'speech.example.com' }],
    ['url', { url: 'https://speech.example.com' }],
    ['url', { url: 'ws://127.0.0.1/#part' }],
    ['connectTimeoutMs', { url: 'ws://127.0.0.1', connectTimeoutMs: 0 }],
    ['heartbeatMs', { url: 'ws://127.0.0.1', heartbeatMs: -1 }],
    ['maxMessageBytes', { url: 'ws://127.0.0.1', maxMessageBytes: 0 }],
    ['protocols', { url: 'ws://127.0.0.1', protocols: ['secret token'] }],
    ['headers', { url: 'ws://127.0.0.1', headers: { Authorization: 'secret\n' } }],
    ['headers', { url: 'ws://127.0.0.1', headers: {}, WebSocket: FakeBrowserSocket }],
    ['ca', { url: 'ws://127.0.0.1', ca: '', WebSocket: FakeBrowserSocket }],
  ])('rejects an unusable %s', async (name, options) => {
    const error = await errorOf(options)
    expect(error.code).toBe('invalid-options')
    expect(error.message).toContain(name)
    expect(error.message).not.toContain('secret')
  })

  it('connects with a class of the browser, and reports what is known when that fails', async () => {
    FakeBrowserSocket.made = []
    const linked = linkOf({ url: 'ws://speech.example.com/x', protocols: ['rxspeech'], WebSocket: FakeBrowserSocket })
    const [first] = FakeBrowserSocket.made
    expect(first).toMatchObject({ url: 'ws://speech.example.com/x', protocols: ['rxspeech'], options: undefined })
    first?.open()
    ;(await linked).close()
    expect(first?.closedWith).toEqual([1000, ''])
    const failed = errorOf({ url: 'wss://speech.example.com', WebSocket: FakeBrowserSocket })
    FakeBrowserSocket.made[1]?.fail()
    expect(await failed).toMatchObject({ code: 'connection-failed', retryable: true })
    expect((await failed).message).toContain('speech.example.com:443')
  })
})
