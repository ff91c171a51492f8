import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { spoken } from '../../server/test/sessions/spoken.js'
import { openStream, plainClient } from './interop/plain-dataflow-client.js'
import { recognizeOf, startOf } from './plain-service.js'

interface Address {
  readonly wsUrl: string
  readonly grpc: string
  readonly token: string
}
interface Held {
  readonly fds: number
  readonly heapBytes: number
}

let service: ChildProcess
let address: Address

/** The built service in a separate process, whose memory is used by nothing else. */
const serve = async (...args: readonly string[]): Promise<void> => {
  const file = join(__dirname, '../../../bench/soak/soak-service.mjs')
  service = fork(file, args, { execArgv: ['--expose-gc'] })
  ;[address] = (await once(service, 'message')) as [Address]
}
afterEach(async () => {
  const ended = once(service, 'exit')
  service.send('end')
  await ended
})

const held = async (): Promise<Held> => {
  service.send('held')
  return ((await once(service, 'message')) as [Held])[0]
}

const open = async (): Promise<WebSocket> => {
  const headers = { Authorization: `Bearer ${address.token}` }
  const socket = new WebSocket(`${address.wsUrl}/recognizer`, { headers, perMessageDeflate: false })
  socket.on('error', () => undefined)
  await once(socket, 'open')
  return socket
}

const running = async (): Promise<WebSocket> => {
  const socket = await open()
  const answer = once(socket, 'message')
  socket.send(JSON.stringify(recognizeOf()))
  await answer
  return socket
}

/** Sends when the network accepts it; false if it accepts nothing more for a while, or the socket is closed. */
const send = (socket: WebSocket, message: string | Uint8Array, patienceMs = 20_000): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(false)
    }, patienceMs)
    socket.send(message, (error) => {
      clearTimeout(timer)
      resolve(error === undefined || error === null)
    })
  })

describe('the memory of the service', () => {
  it('holds no more than some seconds of audio for an engine that hangs, however much is sent', async () => {
    await serve('stuck')
    const speech = await spoken(8_000)
    const socket = await running()
    const before = await held()
    let sentBytes = 0
    while (sentBytes < 64_000_000 && (await send(socket, speech, 4_000))) sentBytes += speech.length
    // The buffers of the network accept some of it.
    expect(sentBytes).toBeLessThan(32_000_000)
    expect((await held()).heapBytes - before.heapBytes).toBeLessThan(4_000_000)
    socket.terminate()
  })

  it('is limited for a client that sends requests and does not read, which is cut', async () => {
    await serve()
    const socket = await open()
    const closed = once(socket, 'close')
    const before = await held()
    socket.pause()
    let over = false
    void closed.then(() => (over = true))
    const stop = JSON.stringify({ 'message-name': 'stop-recognition' })
    let maximum = 0
    for (let round = 0; !over && round < 200; round += 1) {
      for (let count = 0; count < 1_000; count += 1) socket.send(stop)
      if (!(await send(socket, stop, 4_000))) break
      if (round % 20 === 0) maximum = Math.max(maximum, (await held()).heapBytes - before.heapBytes)
    }
    expect(maximum).toBeLessThan(16_000_000)
    socket.terminate()
    await closed
    expect((await held()).heapBytes - before.heapBytes).toBeLessThan(2_000_000)
  })

  it('stays flat under a flood of Updates, which ends the session', async () => {
    await serve('limited')
    const { wsUrl, grpc, token } = address
    const client = plainClient({ service: { access: { wsUrl, grpc } }, token })
    const stream = openStream(client)
    stream.request(startOf(token))
    await stream.answered
    const before = await held()
    const value = 'x'.repeat(200_000)
    for (let count = 0; count < 200 && stream.stream.writable; count += 1) {
      stream.request({ MessageName: 'Update', Settings: { [`key${count}`]: `${value}${count}` } })
    }
    const { status, responses } = await stream.ended
    expect(status).toBe('RESOURCE_EXHAUSTED')
    const results = responses.map((response) => String(response['operation-result']).replace(/:.*/, ''))
    expect(new Set(results)).toEqual(new Set(['success', 'invalid-field', 'too-many-requests']))
    expect(results.filter((result) => result === 'success')).toHaveLength(2)
    expect((await held()).heapBytes - before.heapBytes).toBeLessThan(4_000_000)
    client.close()
  })

  it('is limited for floods of tiny and of empty messages, and of pings', async () => {
    await serve()
    const socket = await running()
    const before = await held()
    for (let round = 0; round < 50; round += 1) {
      for (let count = 0; count < 1_000; count += 1) {
        socket.send(new Uint8Array(2))
        socket.send(new Uint8Array(0))
      }
      const answered = once(socket, 'pong')
      for (let count = 0; count < 10; count += 1) socket.ping()
      await answered
    }
    const finalized = once(socket, 'message')
    socket.send('{"message-name":"finalize-recognition"}')
    await finalized
    expect((await held()).heapBytes - before.heapBytes).toBeLessThan(4_000_000)
    socket.terminate()
  })

  it('holds 2,000 idle sockets in less than 40 kB each, and is released with them', async () => {
    await serve()
    const before = await held()
    const sockets: WebSocket[] = []
    while (sockets.length < 2_000) sockets.push(...(await Promise.all(Array.from({ length: 50 }, open))))
    const full = await held()
    // The connection of the token request may have ended since.
    expect(full.fds - before.fds).toBeGreaterThan(1_990)
    expect(full.heapBytes - before.heapBytes).toBeLessThan(2_000 * 40_000)
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')))
    for (const socket of sockets) socket.terminate()
    await closed
    const after = await held()
    expect(after.fds - before.fds).toBeLessThanOrEqual(2)
    expect(after.heapBytes - before.heapBytes).toBeLessThan(4_000_000)
  })
})
