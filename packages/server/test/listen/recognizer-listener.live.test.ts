import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSocket, type PlainSocket } from '../../../service/test/interop/plain-socket-client.js'
import { plainService, recognizeOf, subscriptionOf, type PlainService } from '../../../service/test/plain-service.js'

let service: PlainService
beforeAll(async () => {
  service = await plainService({ limits: { sessions: 6, sessionsPerToken: 5, requestBurst: 1_000 } }, [
    await subscriptionOf('other'),
  ])
})
afterAll(() => service.close())

const header = (token: string): string => `Authorization: Bearer ${token}\r\n`
const keys = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const upgrade = (target: string, headers: string): string =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`

/** All bytes that a raw connection receives for a text until it is closed. */
const exchange = async (text: string): Promise<string> => {
  const socket = connect(Number(new URL(service.started.wsUrl).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text)
  let answer = ''
  socket.on('data', (data: Buffer) => (answer += data.toString('latin1')))
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

/** Opens connections for all places, verifies that there are no more, and closes them. */
const expectAllPlaces = async (): Promise<void> => {
  const sockets: PlainSocket[] = []
  // A place is released when the service sees the end of a connection, which may be a moment later.
  while (sockets.length < 5) {
    const socket = await openSocket(service).catch((error: unknown) => {
      expect(String(error)).toMatch(/HTTP 429: overloaded: /)
    })
    if (socket !== undefined) sockets.push(socket)
  }
  await expect(openSocket(service)).rejects.toThrow(/^HTTP 429: overloaded: The token has 5 sessions/)
  await Promise.all(
    sockets.map(async (socket) => {
      socket.close()
      await socket.receive()
    }),
  )
}

describe('an upgrade', () => {
  it.each([
    ['//', 404],
    ['//recognizer', 404],
    ['/recognizer/..%2f', 404],
    ['http://[/', 404],
    ['*', 404],
    ['/recognizer?ModelName=%', 401],
  ])('is answered for the target %s, and the service continues', async (target, status) => {
    expect(await exchange(upgrade(target, keys))).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it.each([
    ['no key', 'Sec-WebSocket-Version: 13\r\n'],
    ['a bad key', 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n'],
    ['an old version', 'Sec-WebSocket-Version: 6\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'],
  ])('with a valid token and %s is refused and holds no place', async (_name, headers) => {
    for (let count = 0; count < 6; count += 1) {
      expect(await exchange(upgrade('/recognizer', header(service.token) + headers))).toMatch(/^HTTP\/1\.1 4\d\d /)
    }
    await expectAllPlaces()
  })

  it('that disconnects while its token is checked holds no place', async () => {
    const port = Number(new URL(service.started.wsUrl).port)
    for (let count = 0; count < 12; count += 1) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(upgrade('/recognizer', header(service.token) + keys))
      if (count % 2 === 0) socket.resetAndDestroy()
      else socket.destroy()
    }
    await expectAllPlaces()
  })

  it('is refused with a status and a sentence that never repeats the token', async () => {
    const token = `${service.token.slice(0, -4)}AAAA`
    const answer = await exchange(upgrade(`/recognizer?access_token=${token}`, header(token) + keys))
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    expect(answer).toMatch(/WWW-Authenticate: Bearer/)
    expect(answer).toMatch(/\r\n\r\nunauthenticated: [A-Z]/)
    expect(answer).not.toContain(token.slice(-40))
  })

  it('without a token is refused with a sentence that names the headers a proxy may remove', async () => {
    const answer = await exchange(upgrade('/recognizer', keys))
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    expect(answer).toMatch(/unauthenticated: The request has no token; .* Authorization or Sec-WebSocket-Protocol\./)
  })

  it('that offers compression is accepted without it', async () => {
    const socket = await openSocket(service)
    expect(socket.raw.extensions).toBe('')
    socket.close()
    await socket.receive()
  })

  it('beyond the limit is closed with 4429 if the token was sent by subprotocol, and 503 otherwise', async () => {
    const sockets = await Promise.all(Array.from({ length: 5 }, () => openSocket(service)))
    const refused = await openSocket(service, {
      withoutHeader: true,
      protocols: ['rxspeech', `bearer.${service.token}`],
    })
    expect(await refused.receive()).toMatchObject({
      close: 4429,
      reason: expect.stringMatching(/^overloaded: /) as unknown,
    })
    const other = await service.newToken('other')
    sockets.push(await openSocket(service, { token: other }))
    await expect(openSocket(service, { token: other })).rejects.toThrow(/^HTTP 429: overloaded: The service has 6/)
    for (const socket of sockets) socket.raw.terminate()
    await expectAllPlaces()
  })

  it('accepts a token from the query only if that is enabled', async () => {
    const way = { withoutHeader: true, path: `/recognizer?access_token=${service.token}` }
    await expect(openSocket(service, way)).rejects.toThrow(/^HTTP 401/)
    const open = await plainService({ allowQueryToken: true })
    const path = `/recognizer?access_token=${open.token}`
    const socket = await openSocket(open, { withoutHeader: true, path })
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    socket.close()
    await open.close()
  })
})

/** A masked frame, as a client sends it (RFC 6455 section 5.2). */
const frame = (firstByte: number, payload: Uint8Array): Buffer => {
  const mask = [1, 2, 3, 4] as const
  const long = payload.length > 125
  const head = long
    ? [firstByte, 0x80 | 126, payload.length >> 8, payload.length & 255]
    : [firstByte, 0x80 | payload.length]
  return Buffer.from([...head, ...mask, ...payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))])
}
const text = (json: unknown): Uint8Array => Buffer.from(JSON.stringify(json))

/** Returns the connection below an open socket, to send what no client library sends. */
const below = (socket: PlainSocket): { readonly write: (bytes: Uint8Array) => unknown } =>
  (socket.raw as unknown as { readonly _socket: { readonly write: (bytes: Uint8Array) => unknown } })._socket

describe('a socket', () => {
  it('accepts messages in fragments, with a ping between them, which is answered', async () => {
    const socket = await openSocket(service)
    const ponged = once(socket.raw, 'pong')
    const json = text(recognizeOf())
    below(socket).write(frame(0x01, json.subarray(0, 5)))
    below(socket).write(frame(0x89, Buffer.from('hey')))
    below(socket).write(frame(0x00, json.subarray(5, 40)))
    below(socket).write(frame(0x80, json.subarray(40)))
    expect(String((await ponged)[0])).toBe('hey')
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    below(socket).write(frame(0x02, new Uint8Array(161)))
    below(socket).write(frame(0x80, new Uint8Array(159)))
    socket.send({ 'message-name': 'finalize-recognition' })
    await socket.receive()
    expect(await socket.receive()).toMatchObject({ 'message-name': 'final-result', 'end-msec': '20' })
    socket.close()
    await socket.receive()
  })

  it.each([
    ['text that is not UTF-8', frame(0x81, Uint8Array.of(0xff, 0xfe)), 1007],
    ['a reserved bit', frame(0xc1, text({})), 1002],
    ['a reserved opcode', frame(0x83, text({})), 1002],
    ['a ping that is too long', frame(0x89, new Uint8Array(126)), 1002],
    ['a continuation without a start', frame(0x80, text({})), 1002],
    ['a frame without a mask', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), 1002],
    ['a close of one byte', frame(0x88, Uint8Array.of(3)), 1002],
  ])('is closed for %s', async (_name, bytes, close) => {
    const socket = await openSocket(service)
    below(socket).write(bytes)
    expect(await socket.receive()).toMatchObject({ close })
  })

  it.each([
    [
      'a message that is too big',
      Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.from('0000000000200000', 'hex')]),
      'message-too-big',
      1009,
    ],
    ['text that is not UTF-8', frame(0x81, Uint8Array.of(0xff, 0xfe)), 'invalid-json', 1007],
    ['a reserved opcode', frame(0x83, text({})), 'protocol-violation', 1002],
  ])('ends its recognition before it is closed for %s', async (_name, bytes, code, close) => {
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    await socket.receive()
    below(socket).write(bytes)
    expect(await socket.receive()).toMatchObject({
      'message-name': 'final-result',
      'operation-result': expect.stringMatching(new RegExp(`^${code}: [A-Z]`)) as unknown,
    })
    expect(await socket.receive()).toMatchObject({
      close,
      reason: expect.stringMatching(new RegExp(`^${code}: `)) as unknown,
    })
  })

  it('ends its recognition before it is closed for a message of too many fragments', async () => {
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    await socket.receive()
    socket.raw.on('error', () => undefined)
    below(socket).write(frame(0x02, new Uint8Array(2)))
    const fragments = Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x00, new Uint8Array(2))))
    for (let count = 0; count < 200; count += 1) below(socket).write(fragments)
    expect(await socket.receive()).toMatchObject({
      'message-name': 'final-result',
      'operation-result': expect.stringMatching(/^message-too-big: /) as unknown,
    })
    expect(await socket.receive()).toMatchObject({ close: 1009 })
  })

  it('survives pings, and a flood of pongs', async () => {
    const socket = await openSocket(service)
    for (let count = 0; count < 2_000; count += 1) {
      if (count % 100 === 0) socket.raw.ping('x')
      socket.raw.pong('x')
    }
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    socket.close()
    await socket.receive()
  })

  it('is cut when it floods with pings', async () => {
    const socket = await openSocket(service)
    const closed = new Promise((resolve) => socket.raw.once('close', resolve))
    socket.raw.pause()
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x89, new Uint8Array(125))))
    const connection = below(socket) as unknown as Socket
    connection.on('error', () => undefined)
    while (!connection.destroyed) {
      if (!connection.write(pings))
        await Promise.race([once(connection, 'drain'), once(connection, 'close')]).catch(() => undefined)
    }
    await closed
    await expectAllPlaces()
  })

  it('closed by both sides together is closed once', async () => {
    const socket = await openSocket(service)
    socket.send('junk')
    socket.raw.close(1000)
    expect(await socket.receive()).toMatchObject({ close: expect.any(Number) as unknown })
    await expectAllPlaces()
  })

  it('disconnected in any state, 300 times, releases all places', async () => {
    for (let round = 0; round < 60; round += 1) {
      const sockets = (
        await Promise.all(Array.from({ length: 5 }, () => openSocket(service).catch(() => undefined)))
      ).filter((socket) => socket !== undefined)
      for (const [index, socket] of sockets.entries()) {
        if (index > 0) socket.send(recognizeOf())
        if (index > 1) socket.audio(new Uint8Array(16_000))
        if (index > 2) socket.send({ 'message-name': 'finalize-recognition' })
        if (index === 4) await socket.receive()
        socket.raw.terminate()
      }
    }
    await expectAllPlaces()
    expect(service.faults).toEqual([])
  })
})

describe('the token endpoint', () => {
  it('answers while sockets run, and unknown paths get 404', async () => {
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    await socket.receive()
    expect(await service.newToken()).toMatch(/^eyJ/)
    expect((await fetch(`${service.started.authUrl}/elsewhere`)).status).toBe(404)
    expect((await fetch(`${service.started.authUrl}/connect/token`)).status).toBe(405)
    socket.close()
    await socket.receive()
  })
})
