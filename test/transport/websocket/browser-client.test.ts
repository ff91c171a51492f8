import { beforeEach, describe, expect, it } from 'vitest'
import { dialBrowserSocket } from '../../../src/transport/websocket/browser-client.js'
import type { Link, SocketMessage } from '../../../src/transport/link.js'
import type { WebSocketDialOptions } from '../../../src/transport/websocket/dial.js'
import { FakeBrowserSocket } from './fake-browser-socket.js'

const options: WebSocketDialOptions = {
  url: 'wss://speech.example.com/recognizer?access_token=secret',
  protocols: ['rxspeech', 'bearer.abc'],
  WebSocket: FakeBrowserSocket,
}

const dialled = (more: Partial<WebSocketDialOptions> = {}) => {
  const links: Link<SocketMessage, SocketMessage>[] = []
  const errors: unknown[] = []
  const dialling = dialBrowserSocket({ ...options, ...more }).subscribe({
    next: (link) => links.push(link),
    error: (error: unknown) => errors.push(error),
  })
  return { dialling, links, errors }
}

const theSocket = (): FakeBrowserSocket => {
  const [socket] = FakeBrowserSocket.made
  if (socket === undefined) throw new Error('No socket was made.')
  return socket
}

describe('dialBrowserSocket', () => {
  beforeEach(() => {
    FakeBrowserSocket.made = []
  })

  it('accepts a class without removeEventListener', () => {
    class Simple extends FakeBrowserSocket {}
    Object.defineProperty(Simple.prototype, 'removeEventListener', { value: undefined })
    const { dialling, links, errors } = dialled({ WebSocket: Simple })
    const socket = theSocket()
    socket.open()
    expect([links.length, errors]).toEqual([1, []])
    socket.end(1006)
    expect([dialling.closed, errors]).toEqual([false, []])
    dialling.unsubscribe()
  })

  it('passes an address and subprotocols to the platform, and no options that only Node has', () => {
    const { dialling } = dialled()
    const socket = theSocket()
    expect([socket.url, socket.protocols, socket.options]).toEqual([options.url, options.protocols, undefined])
    dialling.unsubscribe()
  })

  it('emits one link when the socket opens, and closes it normally when it is unsubscribed', () => {
    const { links, dialling } = dialled()
    const socket = theSocket()
    expect(links).toHaveLength(0)
    socket.open()
    expect(links).toHaveLength(1)
    dialling.unsubscribe()
    expect(socket.closedWith).toEqual([1000, ''])
  })

  it('closes a socket that has not opened when it is unsubscribed', () => {
    const { links, dialling } = dialled()
    const socket = theSocket()
    dialling.unsubscribe()
    socket.open()
    expect([socket.readyState, links.length]).toEqual([1, 0])
    expect(socket.closedWith).toEqual([undefined, undefined])
  })

  it.each([
    [
      'wss://127.0.0.1:8781/recognizer',
      'No connection to 127.0.0.1:8781; check the address, and that the service runs; open https://127.0.0.1:8781 to see whether its certificate is trusted.',
    ],
    [
      'ws://127.0.0.1:8780/recognizer',
      'No connection to 127.0.0.1:8780; check the address, and that the service runs.',
    ],
  ])('hints at a certificate only where there is one: %s', (url, message) => {
    const { errors } = dialled({ url })
    theSocket().fail()
    expect(errors).toMatchObject([{ code: 'connection-failed', message }])
  })

  it('errors with connection-failed, without the query, when the socket closes instead of opening', () => {
    const { errors } = dialled()
    const socket = theSocket()
    socket.fail()
    expect(errors).toMatchObject([
      { code: 'connection-failed', message: expect.stringContaining('speech.example.com:443') },
    ])
    expect(String(errors[0])).not.toContain('secret')
  })

  it.each([{ headers: {} }, { ca: '' }])('rejects %j, which no browser accepts', (more) => {
    const { errors } = dialled(more)
    expect(errors).toMatchObject([{ code: 'invalid-options', message: expect.stringContaining('in the browser') }])
    expect(FakeBrowserSocket.made).toHaveLength(0)
  })
})
