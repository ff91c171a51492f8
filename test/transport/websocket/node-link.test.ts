import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { webSocketLink } from '../../../src/transport/websocket/server.js'
import type { WebSocketLinkOptions } from '../../../src/transport/websocket/socket.js'
import { errorCode } from '../error-code.js'
import { FakeBrowserSocket } from './fake-browser-socket.js'
import { FakeNodeSocket } from './fake-node-socket.js'

const browserLink = (options: WebSocketLinkOptions = {}) => {
  const socket = new FakeBrowserSocket()
  const link = webSocketLink(socket, options)
  socket.open()
  return { socket, link }
}

describe('webSocketLink in the browser', () => {
  it('asks for ArrayBuffers and gives them as bytes', () => {
    const { socket, link } = browserLink()
    const seen: unknown[] = []
    link.incoming$.subscribe((message) => seen.push(message))
    socket.receive('text')
    socket.receive(Uint8Array.of(1, 2).buffer)
    expect(socket.binaryType).toBe('arraybuffer')
    expect(seen).toEqual(['text', Uint8Array.of(1, 2)])
  })

  it('finds out by asking, in virtual time, when there is room again', () => {
    const scheduler = new VirtualTimeScheduler()
    const { socket, link } = browserLink({ scheduler, highWaterMarkBytes: 10 })
    link.send(new Uint8Array(11))
    expect(link.isCongested).toBe(true)
    const seen: number[] = []
    link.drain$.subscribe(() => seen.push(scheduler.now()))
    scheduler.schedule(() => (socket.bufferedAmount = 0), 30)
    scheduler.flush()
    expect(seen).toEqual([40])
  })

  it('keeps what arrives while paused, up to its bound, then ends with overloaded', () => {
    const { socket, link } = browserLink({ maxMessageBytes: 1000, highWaterMarkBytes: 500 })
    const seen: unknown[] = []
    link.incoming$.subscribe({
      next: () => seen.push('message'),
      error: (error: unknown) => seen.push(errorCode(error)),
    })
    link.pause()
    socket.receive(new ArrayBuffer(900))
    link.resume()
    expect(seen).toEqual(['message'])
    link.pause()
    socket.receive(new ArrayBuffer(900))
    socket.receive(new ArrayBuffer(900))
    socket.receive(new ArrayBuffer(900))
    expect(socket.closedWith?.[0]).toBe(4429)
    link.resume()
    expect(seen).toEqual(['message', 'message', 'message', 'overloaded'])
  })

  it('closes with a code that a browser may send, and the reason in words', () => {
    const { socket, link } = browserLink()
    link.close({ code: 'protocol-violation', message: 'That was no event.' })
    expect(socket.closedWith).toEqual([4000, 'protocol-violation: That was no event.'])
  })

  it('reads the close of the service', () => {
    const { socket, link } = browserLink()
    const seen: string[] = []
    link.incoming$.subscribe({ error: (error: unknown) => seen.push(errorCode(error)) })
    socket.end(4401, 'unauthenticated: Your token is too old.')
    expect(seen).toEqual(['unauthenticated'])
  })

  it('has no heartbeat, which a browser cannot send', () => {
    const scheduler = new VirtualTimeScheduler()
    browserLink({ scheduler, heartbeatMs: 10 })
    expect(scheduler.actions).toHaveLength(0)
  })
})

const nodeLink = (options: WebSocketLinkOptions = {}) => {
  const scheduler = new VirtualTimeScheduler(undefined, 10_000)
  const socket = new FakeNodeSocket()
  const link = webSocketLink(socket, { scheduler, ...options })
  socket.open()
  const seen: string[] = []
  link.incoming$.subscribe({
    error: (error: unknown) => seen.push(`${errorCode(error)} at ${scheduler.now()}`),
    complete: () => seen.push(`complete at ${scheduler.now()}`),
  })
  return { scheduler, socket, link, seen }
}

describe('webSocketLink in Node', () => {
  it('ends with connection-lost when a whole heartbeat passes without an answer', () => {
    const { scheduler, socket, seen } = nodeLink({ heartbeatMs: 100 })
    scheduler.schedule(() => (socket.answers = false), 250)
    scheduler.flush()
    expect(seen).toEqual(['connection-lost at 400'])
    expect(socket.pings).toBe(3)
    expect(socket.terminated).toBe(1)
  })

  it('takes any message for a sign of life', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    for (let atMs = 50; atMs < 1000; atMs += 100) scheduler.schedule(() => socket.receive('partial'), atMs)
    scheduler.schedule(() => link.close(), 1010)
    scheduler.flush()
    expect(seen).toEqual(['complete at 1010'])
  })

  it('does not take the peer for dead while this side does not read', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    link.pause()
    expect(socket.reading).toBe(false)
    scheduler.schedule(() => {
      link.resume()
      socket.answers = true
    }, 1050)
    scheduler.schedule(() => link.close(), 1500)
    scheduler.flush()
    expect(seen).toEqual(['complete at 1500'])
  })

  it('says every second that it is alive while it does not read, for pings wait behind what it has not read', () => {
    const { scheduler, socket, link } = nodeLink()
    const pongsAt = (atMs: number, pongs: number) => scheduler.schedule(() => expect(socket.pongs).toBe(pongs), atMs)
    link.pause()
    pongsAt(999, 0)
    pongsAt(1_001, 1)
    pongsAt(2_001, 2)
    // A reader that is slow pauses for each message, and for no second at a time.
    for (let atMs = 2_150; atMs < 4_050; atMs += 100) {
      scheduler.schedule(() => link.resume(), atMs)
      scheduler.schedule(() => link.pause(), atMs + 1)
    }
    pongsAt(3_001, 3)
    scheduler.schedule(() => link.resume(), 4_070)
    pongsAt(5_001, 5)
    pongsAt(9_000, 5)
    scheduler.flush()
    expect(socket.pongs).toBe(5)
    expect(scheduler.actions, 'timers that are left').toEqual([])
  })

  it('says so no more once it is closed', () => {
    const { scheduler, socket, link } = nodeLink()
    link.pause()
    scheduler.schedule(() => link.close(), 1_500)
    scheduler.flush()
    expect(socket.pongs).toBe(1)
  })

  it('does not take the peer for dead whose answer stands behind what this side has only begun to read', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    scheduler.schedule(() => link.pause(), 110)
    scheduler.schedule(() => link.resume(), 195)
    scheduler.schedule(() => socket.answer(), 205)
    scheduler.schedule(() => link.close(), 250)
    scheduler.flush()
    expect(seen).toEqual(['complete at 250'])
  })

  it('does not take a peer for dead that is slow to read, for a ping stands behind what waits', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    link.send(new Uint8Array(1_000_000))
    socket.bufferedAmount = 1_000_000
    for (let atMs = 50; atMs < 1_000; atMs += 100) scheduler.schedule(() => (socket.bufferedAmount -= 1), atMs)
    scheduler.schedule(() => link.close(), 1_010)
    scheduler.flush()
    expect(seen).toEqual(['complete at 1010'])
  })

  it('takes a peer for dead that takes nothing of what waits', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    link.send(new Uint8Array(1_000_000))
    socket.bufferedAmount = 1_000_000
    scheduler.flush()
    expect(seen).toEqual(['connection-lost at 200'])
  })

  it('cuts the connection when the close is not answered within its bound', () => {
    const { scheduler, socket, link } = nodeLink({ closeTimeoutMs: 300 })
    link.close()
    expect(socket.closedWith).toEqual([1000, ''])
    expect(socket.terminated).toBe(0)
    scheduler.flush()
    expect(socket.terminated).toBe(1)
    expect(scheduler.now()).toBe(300)
  })

  it('leaves no timer behind when the close is answered', () => {
    const { scheduler, socket, link } = nodeLink({ heartbeatMs: 100 })
    link.close()
    socket.end(1000)
    scheduler.flush()
    expect([socket.terminated, socket.pings, scheduler.actions]).toEqual([0, 0, []])
  })

  it.each([
    ['its peer closes', (socket: FakeNodeSocket) => socket.end(1000)],
    ['its connection breaks', (socket: FakeNodeSocket) => socket.end(1006)],
  ])('pings no more when %s, and leaves no timer behind', (_, happens) => {
    const { scheduler, socket } = nodeLink({ heartbeatMs: 100 })
    scheduler.schedule(() => happens(socket), 250)
    scheduler.flush()
    expect([socket.pings, scheduler.actions]).toEqual([2, []])
  })

  it('pings no more while it waits for its close to be answered', () => {
    const { scheduler, socket, link } = nodeLink({ heartbeatMs: 100, closeTimeoutMs: 1_000 })
    scheduler.schedule(() => link.close(), 250)
    scheduler.flush()
    expect([socket.pings, socket.terminated, scheduler.actions]).toEqual([2, 1, []])
  })

  it('reads on while it closes, for the answer stands behind what was not read', () => {
    const { socket, link } = nodeLink()
    link.pause()
    link.close()
    expect(socket.reading).toBe(true)
  })

  it('breaks the connection for a reason that is a broken connection', () => {
    const { socket, link } = nodeLink()
    link.close({ code: 'connection-lost', message: '' })
    expect(socket.terminated).toBe(1)
    expect(socket.closedWith).toBeUndefined()
  })
})
