import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Pausable } from '../../src/sessions/back-pressure.js'
import { webSocketLink } from '../../../../src/transport/websocket/server.js'
import { NodeSocketLink } from '../../../../src/transport/websocket/node-link.js'
import { resolveWebSocketLimits, type WebSocketLinkOptions } from '../../../../src/transport/websocket/socket.js'
import { errorCode } from '../../../../test/transport/error-code.js'
import { FakeBrowserSocket } from '../../../../test/transport/websocket/fake-browser-socket.js'
import { FakeNodeSocket } from '../../../../test/transport/websocket/fake-node-socket.js'

const browserLink = (options: WebSocketLinkOptions = {}) => {
  const socket = new FakeBrowserSocket()
  const link = webSocketLink(socket, options)
  socket.open()
  return { socket, link }
}

describe('webSocketLink in the browser', () => {
  it('requests ArrayBuffers and emits them as bytes', () => {
    const { socket, link } = browserLink()
    const seen: unknown[] = []
    link.incoming$.subscribe((message) => seen.push(message))
    socket.receive('text')
    socket.receive(Uint8Array.of(1, 2).buffer)
    expect(socket.binaryType).toBe('arraybuffer')
    expect(seen).toEqual(['text', Uint8Array.of(1, 2)])
  })

  it('polls, in virtual time, until it can send again', () => {
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

  it('queues messages while paused, up to its bound, then ends with overloaded', () => {
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

  it('closes with a code that a browser may send, and with the code and message as reason', () => {
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

describe('webSocketLink in Node, asked whether a peer that sends nothing is there', () => {
  const askedLink = () => {
    const { socket, link } = nodeLink()
    socket.answers = false
    const asked: Pausable = link
    return { socket, isAnswering: () => asked.isAnswering?.(), last: () => socket.pinged.at(-1) }
  }

  it('pings it once, and knows when it has answered', () => {
    const { socket, isAnswering, last } = askedLink()
    expect([isAnswering(), isAnswering(), socket.pings]).toEqual([false, false, 1])
    socket.answer(last())
    expect([isAnswering(), isAnswering(), socket.pings]).toEqual([true, true, 1])
  })

  it('asks again after a message, and takes no earlier answer for the new one', () => {
    const { socket, isAnswering, last } = askedLink()
    isAnswering()
    const early = last()
    socket.receive('text')
    expect(isAnswering()).toBe(false)
    socket.answer(early)
    expect(isAnswering()).toBe(false)
    socket.answer(last())
    expect(isAnswering()).toBe(true)
    socket.receive('text')
    expect([isAnswering(), socket.pings]).toEqual([false, 3])
  })

  it('takes no answer to a heartbeat, and no pong that nobody asked for', () => {
    const { socket, isAnswering } = askedLink()
    isAnswering()
    socket.answer()
    expect(isAnswering()).toBe(false)
  })

  it('does not ping a link that is closed', () => {
    const { socket, link } = nodeLink()
    link.close()
    const asked: Pausable = link
    expect([asked.isAnswering?.(), socket.pings]).toEqual([false, 0])
  })
})

describe('webSocketLink in Node', () => {
  it('ends with connection-lost when a complete heartbeat passes without an answer', () => {
    const { scheduler, socket, seen } = nodeLink({ heartbeatMs: 100 })
    scheduler.schedule(() => (socket.answers = false), 250)
    scheduler.flush()
    expect(seen).toEqual(['connection-lost at 400'])
    expect(socket.pings).toBe(3)
    expect(socket.terminated).toBe(1)
  })

  it('treats any message as a sign of life', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    for (let atMs = 50; atMs < 1000; atMs += 100) scheduler.schedule(() => socket.receive('partial'), atMs)
    scheduler.schedule(() => link.close(), 1010)
    scheduler.flush()
    expect(seen).toEqual(['complete at 1010'])
  })

  it('does not treat the peer as dead while this side does not read', () => {
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

  it('pings every second while it does not read, because pings of the peer are queued behind unread messages', () => {
    const { scheduler, socket, link } = nodeLink()
    const pongsAt = (atMs: number, pongs: number) => scheduler.schedule(() => expect(socket.pongs).toBe(pongs), atMs)
    link.pause()
    pongsAt(999, 0)
    pongsAt(1_001, 1)
    pongsAt(2_001, 2)
    // A slow reader pauses for each message, but never for a second at a time.
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

  it('stops these pings once it is closed', () => {
    const { scheduler, socket, link } = nodeLink()
    link.pause()
    scheduler.schedule(() => link.close(), 1_500)
    scheduler.flush()
    expect(socket.pongs).toBe(1)
  })

  it('does not treat a peer as dead whose answer is queued behind messages that this side has just begun to read', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    scheduler.schedule(() => link.pause(), 110)
    scheduler.schedule(() => link.resume(), 195)
    scheduler.schedule(() => socket.answer(), 205)
    scheduler.schedule(() => link.close(), 250)
    scheduler.flush()
    expect(seen).toEqual(['complete at 250'])
  })

  it('does not treat a slow reader as dead, because the ping is queued behind unsent messages', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    link.send(new Uint8Array(1_000_000))
    socket.bufferedAmount = 1_000_000
    for (let atMs = 50; atMs < 1_000; atMs += 100) scheduler.schedule(() => (socket.bufferedAmount -= 1), atMs)
    scheduler.schedule(() => link.close(), 1_010)
    scheduler.flush()
    expect(seen).toEqual(['complete at 1010'])
  })

  it('treats a peer as dead that accepts none of the queued messages', () => {
    const { scheduler, socket, seen, link } = nodeLink({ heartbeatMs: 100 })
    socket.answers = false
    link.send(new Uint8Array(1_000_000))
    socket.bufferedAmount = 1_000_000
    scheduler.flush()
    expect(seen).toEqual(['connection-lost at 200'])
  })

  it('cuts the connection when the close is not answered in time', () => {
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
  ])('sends no more pings when %s, and leaves no timer', (_, happens) => {
    const { scheduler, socket } = nodeLink({ heartbeatMs: 100 })
    scheduler.schedule(() => happens(socket), 250)
    scheduler.flush()
    expect([socket.pings, scheduler.actions]).toEqual([2, []])
  })

  it('sends no more pings while it waits for the answer to its close', () => {
    const { scheduler, socket, link } = nodeLink({ heartbeatMs: 100, closeTimeoutMs: 1_000 })
    scheduler.schedule(() => link.close(), 250)
    scheduler.flush()
    expect([socket.pings, socket.terminated, scheduler.actions]).toEqual([2, 1, []])
  })

  it('continues reading while it closes, because the answer is queued behind unread messages', () => {
    const { socket, link } = nodeLink()
    link.pause()
    link.close()
    expect(socket.reading).toBe(true)
  })

  it('breaks the connection when the reason is a broken connection', () => {
    const { socket, link } = nodeLink()
    link.close({ code: 'connection-lost', message: '' })
    expect(socket.terminated).toBe(1)
    expect(socket.closedWith).toBeUndefined()
  })
})

const endOfTurn = () => new Promise<void>((resolve) => process.nextTick(resolve))

describe('a link that knows the connection of its socket', () => {
  it('writes the messages of one turn together, and those of the next one apart', async () => {
    const log: string[] = []
    const connection = { cork: () => void log.push('cork'), uncork: () => void log.push('uncork') }
    const socket = new FakeNodeSocket()
    socket.send = (data) => void log.push(String(data))
    const link = new NodeSocketLink(socket, resolveWebSocketLimits({ heartbeatMs: 0 }), connection)
    socket.open()
    link.send('one')
    link.send('two')
    await endOfTurn()
    expect(log).toEqual(['cork', 'one', 'two', 'uncork'])
    link.send('three')
    await endOfTurn()
    expect(log.slice(4)).toEqual(['cork', 'three', 'uncork'])
  })
})
