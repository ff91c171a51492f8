import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStream, plainClient } from '../../../service/test/interop/plain-dataflow-client.js'
import { openSocket, type PlainSocket } from '../../../service/test/interop/plain-socket-client.js'
import {
  plainService,
  recognizeOf,
  startOf,
  subscriptionOf,
  type PlainService,
} from '../../../service/test/plain-service.js'
import { maskedFrame } from './masked-frame.js'

/** So slow that no run of this test gets another request in time. */
const limits = { maxRequestsPerSecond: 1, requestBurst: 10 }

/** Each test has a client of its own, whose tokens no other test uses. */
const clients = [
  'sockets',
  'streams',
  'mixed',
  'empty',
  'short',
  'ping',
  'continued',
  'late',
  'empty-grpc',
  'refused',
  'other',
]

let service: PlainService
beforeAll(async () => {
  service = await plainService({ limits }, await Promise.all(clients.map((clientId) => subscriptionOf(clientId))))
})
afterAll(() => service.close())

/** How the start of a recognition on a new socket is answered. */
const startSocket = async (token: string): Promise<string> => {
  const socket = await openSocket(service, { token }).catch((error: unknown) => String(error))
  if (typeof socket === 'string') return socket
  socket.send(recognizeOf())
  const { 'operation-result': result } = await socket.receive()
  socket.close()
  return String(result)
}

const startStream = async (token: string): Promise<string> => {
  const client = plainClient(service)
  const stream = openStream(client)
  stream.request(startOf(token))
  await stream.answered
  stream.stream.end()
  const { responses, details } = await stream.ended
  client.close()
  const result = responses[0]?.['operation-result']
  return typeof result === 'string' ? result : details
}

const isSuccess = (result: string): boolean => result.toLowerCase() === 'success'

const results = async (count: number, start: () => Promise<string>): Promise<readonly string[]> => {
  const found: string[] = []
  while (found.length < count) found.push(await start())
  return found
}

describe('the requests of a token', () => {
  it.each([
    ['sockets', startSocket, /^Error: HTTP 429: too-many-requests: More than 10 requests at once/],
    ['streams', startStream, /^too-many-requests: More than 10 requests at once/],
  ] as const)(
    'are limited over %s that begin one after another, and those of others are not',
    async (name, start, refusal) => {
      const token = await service.newToken(name)
      const found = await results(15, () => start(token))
      // A slow run gets one request more each second.
      expect(found.slice(0, 10).every(isSuccess)).toBe(true)
      expect(found.find((result) => !isSuccess(result))).toMatch(refusal)
      expect(await start(await service.newToken('other'))).toMatch(/success/i)
    },
  )

  it('count on both interfaces together', async () => {
    const token = await service.newToken('mixed')
    await results(5, () => startSocket(token))
    await results(5, () => startStream(token))
    const found = [...(await results(3, () => startSocket(token))), ...(await results(3, () => startStream(token)))]
    expect(found.filter((result) => result.includes('too-many-requests')).length).toBeGreaterThan(0)
  })

  it('count more for a start that is refused', async () => {
    const token = await service.newToken('refused')
    const socket = await openSocket(service, { token })
    const found: string[] = []
    for (let count = 0; count < 4; count += 1) {
      socket.send(recognizeOf({ 'model-name': 'none' }))
      found.push(String((await socket.receive())['operation-result']).replace(/:.*/, ''))
    }
    expect(found.slice(0, 2)).toEqual(['model-denied', 'model-denied'])
    expect(found).toContain('too-many-requests')
    socket.close()
  })
})

/** The connection below an open socket, to send what no client library sends. */
const below = ({ raw }: PlainSocket): Socket => (raw as unknown as { readonly _socket: Socket })._socket

/** Sends frames until the service has closed, or all are sent and a ping after them is answered; returns the close. */
const flood = async (socket: PlainSocket, frame: Buffer, count: number): Promise<unknown> => {
  const connection = below(socket)
  connection.on('error', () => undefined)
  const closed = once(socket.raw, 'close').then(
    ([code, reason]) => `${String(code)} ${String(reason).replace(/:.*/, '')}`,
  )
  const part = Buffer.concat(Array.from({ length: 1_000 }, () => frame))
  for (let sent = 0; sent < count && socket.raw.readyState === socket.raw.OPEN; sent += 1_000) {
    if (!connection.write(part)) await Promise.race([once(connection, 'drain'), closed])
  }
  const answered = new Promise((resolve) => {
    socket.raw.on('pong', (data: Buffer) => {
      if (data.toString() === 'sent') connection.write(maskedFrame(0x89, Buffer.from('seen')))
      if (data.toString() === 'seen') resolve('open')
    })
  })
  connection.write(maskedFrame(0x89, Buffer.from('sent')))
  const end = await Promise.race([closed, answered])
  socket.raw.terminate()
  return end
}

/** Some thousands more than the burst allows. */
const tooMany = 10_000

describe('a flood of one token', () => {
  it.each([
    ['empty', 'empty audio', maskedFrame(0x82)],
    ['short', 'audio of one sample', maskedFrame(0x82, new Uint8Array(2))],
    ['pong', 'pongs', maskedFrame(0x8a)],
  ] as const)('%s is ended on a socket: %s', async (name, _what, frame) => {
    const token = await service.newToken(name)
    const socket = await openSocket(service, { token })
    socket.send(recognizeOf())
    await socket.receive()
    expect(await flood(socket, frame, tooMany)).toBe('4429 too-many-requests')
    // It continues on no other socket, and affects no other token.
    expect(await startSocket(token)).toMatch(/too-many-requests/)
    expect(await startSocket(await service.newToken('other'))).toBe('Success')
  })

  it('of empty parts of a message is ended', async () => {
    const socket = await openSocket(service, { token: await service.newToken('continued') })
    below(socket).write(maskedFrame(0x01))
    expect(await flood(socket, maskedFrame(0x00), tooMany)).toBe('4429 too-many-requests')
  })

  it('of audio after a recognition is ended', async () => {
    const socket = await openSocket(service, { token: await service.newToken('late') })
    socket.send(recognizeOf())
    await socket.receive()
    socket.send({ 'message-name': 'stop-recognition' })
    await socket.receive()
    expect(await flood(socket, maskedFrame(0x82, new Uint8Array(2)), tooMany)).toBe('4429 too-many-requests')
  })

  it('of empty audio is ended on a stream', async () => {
    const client = plainClient(service)
    const stream = openStream(client)
    stream.request(startOf(await service.newToken('empty-grpc')))
    await stream.answered
    const ended = stream.ended.then(({ details }) => details)
    let isOpen = true
    void ended.then(() => (isOpen = false))
    for (let sent = 0; sent < tooMany && isOpen; sent += 1) {
      if (!stream.stream.write({ message: {} })) await Promise.race([once(stream.stream, 'drain'), ended])
    }
    stream.stream.end()
    // The limit of small parts of a stream comes first if the process is busy: it counts them before they are messages.
    expect(await ended).toMatch(/^too-many-requests: |memory limit exceeded$/)
    client.close()
  })
})
