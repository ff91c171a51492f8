import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { openStream, plainClient } from './interop/plain-dataflow-client.js'
import { openSocket, type PlainSocket } from './interop/plain-socket-client.js'
import { spoken } from '../../server/test/sessions/spoken.js'
import { plainService, recognizeOf, startOf, type PlainService } from './plain-service.js'

let service: PlainService
afterEach(() => service.close())

const cap = 20
const offered = Array.from({ length: cap * 1.5 }, (_none, index) => index)
const limits = { sessions: cap, sessionsPerToken: 100, sessionsPerTenant: 100 }

/** The messages of a socket until one with that name, or its close. */
const until = async (socket: PlainSocket, name: string): Promise<Record<string, unknown>> => {
  for (;;) {
    const message = await socket.receive()
    if (message['message-name'] === name || 'close' in message) return message
  }
}

describe('half more clients than the service allows, all at once', () => {
  it('are accepted exactly up to the limit over the WebSocket, and accepted ones receive all of their text', async () => {
    service = await plainService({ limits })
    const speech = await spoken(3_000)
    const ends = await Promise.all(
      offered.map(async () => {
        const socket = await openSocket(service).catch(String)
        if (typeof socket === 'string') return socket
        socket.send(recognizeOf())
        for (let at = 0; at < speech.length; at += 3_200) socket.audio(speech.subarray(at, at + 3_200))
        socket.send({ 'message-name': 'finalize-recognition' })
        const { 'operation-result': result, text } = await until(socket, 'final-result')
        // None disconnects before all have connected.
        return { socket, transcript: `${String(result)} ${String(text)}` }
      }),
    )
    const refused = ends.filter((end) => typeof end === 'string')
    const transcript = ends.flatMap((end) => (typeof end === 'string' ? [] : [end.transcript]))
    expect(transcript).toHaveLength(cap)
    expect(new Set(transcript).size).toBe(1)
    expect(transcript[0]).toMatch(/^Success hello world/)
    expect(new Set(refused)).toEqual(
      new Set([`Error: HTTP 429: overloaded: The service has ${cap} sessions, its limit; try again later.`]),
    )
    for (const end of ends) {
      if (typeof end === 'string') continue
      end.socket.close()
      await until(end.socket, 'none')
    }
  })

  it('are accepted exactly up to the limit over gRPC, and accepted ones receive all of their text', async () => {
    service = await plainService({ limits })
    const speech = await spoken(3_000)
    const client = plainClient(service)
    const streams = offered.map(() => openStream(client))
    for (const stream of streams) stream.request(startOf(service.token))
    await Promise.all(streams.map((stream) => stream.answered))
    const results = streams.map(({ responses }) => String(responses[0]?.['operation-result']).replace(/: .*/, ''))
    expect(results.filter((result) => result === 'success')).toHaveLength(cap)
    expect(results.filter((result) => result === 'overloaded')).toHaveLength(cap / 2)
    for (const stream of streams) {
      if (stream.responses[0]?.['operation-result'] !== 'success') continue
      for (let at = 0; at < speech.length; at += 3_200) {
        stream.raw({ binary_content: speech.subarray(at, at + 3_200), content_type: 0 })
      }
      stream.stream.end()
    }
    const ends = await Promise.all(streams.map((stream) => stream.ended))
    const finals = ends
      .filter(({ status }) => status === 'OK')
      .map(({ events }) => (events.at(-1)?.['Data'] as { readonly Text: string }).Text)
    expect(finals).toHaveLength(cap)
    expect(new Set(finals).size).toBe(1)
    expect(finals[0]).toMatch(/^hello world/)
    for (const { status, details, retryAfter } of ends.filter((end) => end.status !== 'OK')) {
      expect({ status, details, retryAfter }).toEqual({
        status: 'RESOURCE_EXHAUSTED',
        retryAfter: expect.stringMatching(/^[123]$/) as unknown,
        details: `overloaded: The service has ${cap} sessions, its limit; try again later.`,
      })
    }
    client.close()
  })
})

describe('streams before their Start', () => {
  it('are limited over gRPC, refused with their response, and released by their Start or their end', async () => {
    service = await plainService({ limits: { unstarted: 3 } })
    const client = plainClient(service)
    const waiting = [1, 2, 3].map(() => openStream(client))
    // A stream is known to the service when the next one is.
    const refused = await openStream(client).ended
    expect(refused).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      details: expect.stringMatching(/^overloaded: Too many streams/) as unknown,
      responses: [
        { MessageName: 'StartResponse', 'operation-result': expect.stringMatching(/^overloaded/) as unknown },
      ],
    })
    waiting[0]?.request(startOf(service.token))
    await waiting[0]?.answered
    const next = openStream(client)
    next.request(startOf(service.token))
    await next.answered
    expect(next.responses).toMatchObject([{ MessageName: 'StartResponse', 'operation-result': 'success' }])
    for (const item of [...waiting, next]) item.stream.cancel()
    client.close()
  })

  it('are not limited on the WebSocket, where the token arrives first', async () => {
    service = await plainService({ limits: { unstarted: 1 } })
    const sockets = [await openSocket(service), await openSocket(service)]
    for (const socket of sockets) socket.raw.terminate()
  })
})

describe('connections of one address', () => {
  it('are limited, and those beyond the limit are refused with a reason on every interface', async () => {
    service = await plainService({ limits: { connectionsPerAddress: 3 } })
    const { port } = new URL(service.started.wsUrl)
    const [, grpcPort] = service.started.grpcAddress.split(':')
    const held = await Promise.all(
      [port, port, grpcPort].map(
        (value) =>
          new Promise<ReturnType<typeof connect>>((resolve) => {
            const socket = connect(Number(value), '127.0.0.1', () => {
              resolve(socket)
            })
          }),
      ),
    )
    // The connection on which the token of this service was requested may be kept open.
    await expect(openSocket(service)).rejects.toThrow(/^HTTP 429: overloaded: The address has 3 connections/)
    const [answer] = (await once(get(`${service.started.authUrl}/jwks`, { agent: false }), 'response')) as [
      IncomingMessage,
    ]
    answer.resume()
    expect(answer).toMatchObject({
      statusCode: 429,
      headers: { 'retry-after': expect.stringMatching(/^[123]$/) as unknown },
    })
    const client = plainClient(service)
    expect(await openStream(client).ended).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      details: expect.stringMatching(/^overloaded: The address has 3 connections/) as unknown,
    })
    client.close()
    for (const socket of held) socket.destroy()
  })
})

describe('an address that names two models', () => {
  it('is refused before its token is checked', async () => {
    service = await plainService()
    await expect(openSocket(service, { path: '/recognizer?ModelName=m&ModelName=n', token: 'x' })).rejects.toThrow(
      'HTTP 400: model-mismatch: The address has several ModelName; name one model.',
    )
    const socket = await openSocket(service, { path: '/recognizer?ModelName=m&ModelName=m' })
    socket.close()
    await socket.receive()
  })
})
