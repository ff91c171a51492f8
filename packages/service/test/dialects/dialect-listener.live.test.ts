import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { asyncScheduler, NEVER, ReplaySubject, Subscription } from 'rxjs'
import { WebSocket } from 'ws'
import type { Dialect } from '../../../server/src/listen/dialect.js'
import { dialectHandlers } from '../../../server/src/listen/dialect-listener.js'
import { openHttp, type HttpListener } from '../../../server/src/listen/http-listener.js'
import { SessionSet } from '../../../server/src/listen/serve-link.js'
import type { Admission, Drain } from '../../../server/src/sessions/session-context.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { resolveServiceLimits } from '../../src/configuration/service-options.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import { oneModel } from '../../../server/test/sessions/test-connection.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { recognizeOf } from '../plain-service.js'

/** Its messages are those of the recognizer. */
const plain: Dialect = {
  name: 'plain',
  requestIdHeader: 'x-request-id',
  routes: [{ method: 'GET', path: /^\/v1\/endless$/, answer: () => new Promise(() => undefined) }],
  sockets: [
    {
      path: /^\/v1\/plain$/,
      accept: async ({ converse, url }) => {
        if (url.searchParams.has('refuse')) throw new SpeechError('overloaded', 'The service is full.')
        const reportsSpeech = url.searchParams.has('speech')
        if (reportsSpeech) (await converse()).close()
        const conversation = await converse({ reportsSpeech })
        return (socket) => {
          const serving = new Subscription(() => conversation.close())
          serving.add(
            conversation.incoming$.subscribe({
              next: (message) => socket.send(message),
              complete: () => socket.close(),
              error: (error: unknown) => socket.close(error instanceof SpeechError ? error : undefined),
            }),
          )
          serving.add(
            socket.incoming$.subscribe({ next: (message) => conversation.send(message), error: () => undefined }),
          )
          return serving
        }
      },
    },
  ],
  refuse: (error) => ({
    status: error instanceof SpeechError && error.code === 'unauthenticated' ? 401 : 503,
    headers: { 'x-refused-by': 'plain' },
    body: '',
  }),
}

const open: HttpListener[] = []
afterEach(async () => {
  for (const http of open.splice(0)) await http.close()
})

const token = 'page-token.1'

const started = async ({ isForPage }: { readonly isForPage?: boolean } = {}) => {
  const http = await openHttp({ host: '127.0.0.1', port: 0 })
  open.push(http)
  const drain$ = new ReplaySubject<Drain>(1)
  const sessions = new SessionSet()
  let places = 0
  const admit = (presented: string): Promise<Admission> => {
    if (presented !== token) return Promise.reject(new SpeechError('unauthenticated', 'The token is not valid.'))
    places += 1
    const rights = { tenants: ['*'], projects: ['*'], models: ['*'] }
    return Promise.resolve({ rights, ended$: NEVER, release: () => (places -= 1), isForPage })
  }
  const handlers = dialectHandlers(
    {
      dialects: [plain],
      modelNames: {},
      sessions,
      maxMessageBytes: 1_048_576,
      connections: http,
      context: {
        admit,
        models: oneModel(() => Promise.resolve(scriptedEngine({ texts: ['hello world'] }))),
        limits: resolveServiceLimits({}),
        drain$,
        scheduler: asyncScheduler,
      },
    },
    {
      request: (_request, response) => response.writeHead(404).end(),
      upgrade: (_request, socket) => socket.destroy(),
    },
  )
  http.handle(handlers)
  const dial = (protocols: string[], headers: Record<string, string> = {}, query = ''): WebSocket =>
    new WebSocket(`${http.url.replace('http', 'ws')}/v1/plain${query}`, protocols, { headers })
  return { dial, drain$, sessions, places: () => places, url: http.url }
}

const id = /^[\da-f-]{36}$/

const statusOf = async (socket: WebSocket): Promise<number | undefined> => {
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  expect(response.headers['x-request-id']).toMatch(id)
  socket.on('error', () => undefined).terminate()
  return response.statusCode
}

describe('a socket of a dialect', () => {
  it.each([
    [['realtime', `openai-insecure-api-key.${token}`], {}, 'realtime'],
    [['token', token], {}, 'token'],
    [['bearer', token], {}, 'bearer'],
    [[], { Authorization: `Token ${token}` }, ''],
    [[], { Authorization: `bearer ${token}` }, ''],
  ])('is opened with %j and %j, and selects %j', async (protocols, headers, selected) => {
    const service = await started()
    const socket = service.dial(protocols, headers)
    const [{ headers: answered }] = (await once(socket, 'upgrade')) as [IncomingMessage]
    expect(answered['x-request-id']).toMatch(id)
    if (socket.readyState === socket.CONNECTING) await once(socket, 'open')
    expect(socket.protocol).toBe(selected)
    socket.close()
    await once(socket, 'close')
    await expect.poll(service.places).toBe(0)
  })

  it.each([
    [[], {}],
    [['realtime'], {}],
    [['realtime', 'openai-insecure-api-key.'], {}],
    [['token', 'another'], {}],
    [[], { Authorization: 'Token' }],
    [['token', token], { Origin: 'https://example.com' }],
  ])('is refused by the dialect with %j and %j', async (protocols, headers) => {
    const service = await started()
    expect(await statusOf(service.dial(protocols, headers))).toBe(401)
    expect(service.places()).toBe(0)
  })

  it('is opened from a page with a token for pages', async () => {
    const service = await started({ isForPage: true })
    const socket = service.dial(['token', token], { Origin: 'https://example.com' })
    await once(socket, 'open')
    socket.terminate()
    await expect.poll(service.places).toBe(0)
  })

  it('is refused by the dialect before it opens', async () => {
    const service = await started()
    expect(await statusOf(service.dial(['token', token], {}, '?refuse'))).toBe(503)
    await expect.poll(service.places).toBe(0)
  })

  it('has one place for conversations one after another, which can report speech', async () => {
    const service = await started()
    const socket = service.dial(['token', token], {}, '?speech')
    const received: string[] = []
    socket.on('message', (message: Buffer) => received.push(message.toString()))
    await once(socket, 'open')
    expect(service.places()).toBe(1)
    // The model takes no language.
    socket.send(JSON.stringify(recognizeOf({ language: 'de' })))
    socket.send(JSON.stringify(recognizeOf({ language: 'en-US' })))
    await expect.poll(() => received).toHaveLength(2)
    expect(received[0]).toContain('invalid-field: language')
    expect(received[1]).toContain('Success')
    socket.send(await spoken(4_000))
    await expect.poll(() => received.join()).toMatch(/"Speech Started".*"milestone-result"/)
    expect(received.join()).toContain('"Speech Ended"')
    socket.close()
    await expect.poll(service.places).toBe(0)
  })

  it('has a conversation with the recognizer, which ends when the service closes', async () => {
    const service = await started()
    const socket = service.dial(['token', token])
    const received: string[] = []
    socket.on('message', (message: Buffer) => received.push(message.toString()))
    await once(socket, 'open')
    socket.send(JSON.stringify(recognizeOf()))
    await expect.poll(() => received.join()).toContain('recognize-response')
    expect(received[0]).toContain('Success')
    expect(service.sessions.size).toBe(1)
    service.drain$.next({ pauseWithinMs: 0 })
    const [code] = (await once(socket, 'close')) as [number]
    expect(code).toBe(1001)
    expect(received.join()).toContain('final-result')
    expect(service.sessions.size).toBe(0)
    expect(await statusOf(service.dial(['token', token]))).toBe(503)
  })
})

it('requests that wait for an answer on one connection end with it', async () => {
  const service = await started()
  const { hostname, port } = new URL(service.url)
  const client = connect(Number(port), hostname)
  client.write(`GET /v1/endless HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(20))
  await expect.poll(service.places).toBe(20)
  client.destroy()
  await expect.poll(service.places).toBe(0)
  expect(service.sessions.size).toBe(0)
})
