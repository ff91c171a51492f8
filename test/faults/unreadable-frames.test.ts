import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { pace } from '../../src/operators/audio/pace.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { format, outcomeOf, sourceOf } from './proved-session.js'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/**
 * Sends bytes that are not a message on its first connection, as soon as audio has arrived; otherwise a minimal
 * service.
 */
const poisonous = async (poison: Uint8Array): Promise<{ readonly url: string; readonly received: Uint8Array[][] }> => {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  const received: Uint8Array[][] = []
  sockets.on('connection', (socket: WebSocket & { readonly _socket?: Duplex }) => {
    const mine: Uint8Array[] = []
    received.push(mine)
    const isFirst = received.length === 1
    const send = (name: string, fields: object): void =>
      socket.send(JSON.stringify({ 'message-name': name, 'operation-result': 'Success', ...fields }))
    socket.on('error', () => undefined)
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        mine.push(new Uint8Array(data))
        if (isFirst && mine.length === 5) socket._socket?.write(poison)
        return
      }
      const asked = data.toString()
      if (asked.includes('"recognize"')) send('recognize-response', {})
      if (!asked.includes('"finalize-recognition"')) return
      send('finalize-recognition-response', {})
      send('milestone-result', { text: 'all of it' })
      send('final-result', { text: 'all of it', confidence: '0.9' })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.close()
  })
  const address = server.address()
  return { url: `ws://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, received }
}

/** An unmasked frame (RFC 6455 section 5.2) of up to 65,535 bytes. */
const frame = (first: number, payload: Uint8Array): Uint8Array =>
  new Uint8Array([first, 126, payload.length >> 8, payload.length & 0xff, ...payload])

describe('a session whose service sends a frame that cannot be read', () => {
  it.each([
    ['a message above the limit', frame(0x81, new Uint8Array(5_000).fill(0x20)), 'message-too-big'],
    ['text that is not UTF-8', new Uint8Array([0x81, 2, 0xc3, 0x28]), 'invalid-json'],
    ['a reserved type of frame', new Uint8Array([0x83, 1, 0x28]), 'protocol-violation'],
  ])('continues over another connection after %s, and loses nothing', async (_what, poison, cause) => {
    const { url, received } = await poisonous(poison)
    const session = recognize({
      url,
      model: 'm',
      token: 'any',
      format,
      link: { maxMessageBytes: 4_096 },
      resumption: { firstDelayMs: 20 },
    })
    const { events, text, end } = await outcomeOf(session(pace({ format, speed: 8 })(sourceOf(2_000))))
    expect([end, text]).toEqual(['complete', 'all of it'])
    expect(events.flatMap((event) => ('attempt' in event ? [event.cause] : []))).toEqual([cause])
    expect(received).toHaveLength(2)
    expect(Buffer.concat(received[1] ?? [])).toEqual(Buffer.concat(sourceOf(2_000)))
  })
})
