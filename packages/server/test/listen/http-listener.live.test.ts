import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { ConnectionGate } from '../../src/listen/connection-gate.js'
import { openHttp, type HttpListener, type HttpTimeouts } from '../../src/listen/http-listener.js'

const open: HttpListener[] = []
afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close()
})

const hasty: HttpTimeouts = { headersMs: 100, requestMs: 200, checkMs: 25, idleMs: 300 }

const listening = async (timeouts?: HttpTimeouts, gate?: ConnectionGate): Promise<HttpListener> => {
  const listener = await openHttp({ host: '127.0.0.1', port: 0 }, { ...(timeouts && { timeouts }), gate })
  open.push(listener)
  listener.handle({
    request: (request, response) => {
      const answer = request.url === '/long' ? Buffer.alloc(64 * 1_048_576) : 'here'
      request.resume().once('end', () => response.end(answer))
    },
    upgrade: (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
      socket.resume().once('end', () => socket.end())
    },
  })
  return listener
}

const dial = async ({ url }: HttpListener): Promise<Socket> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** All bytes until the connection is closed. */
const untilClosed = async (socket: Socket): Promise<string> => {
  let text = ''
  socket.on('data', (data: Buffer) => (text += data.toString()))
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

const oneConnection = { connections: 1, connectionsPerAddress: 1, unstarted: 1, unstartedPerAddress: 1 }

const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'

describe('an HTTP listener', () => {
  it.each([
    ['garbage', '\u0000\u0001\u0002garbage\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['headers that are too long', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(40_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
  ])('answers %s and closes', async (_name, text, expected) => {
    const socket = await dial(await listening())
    const answer = untilClosed(socket)
    socket.write(text)
    expect(await answer).toMatch(expected)
  })

  it.each([
    ['nothing', ''],
    ['half of a request line', 'GET /conn'],
    ['headers without an end', 'POST /connect/token HTTP/1.1\r\nHost: x\r\n'],
    ['a body without an end', 'POST /connect/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nclient'],
  ])('limits the wait for a client that sends %s', async (_name, text) => {
    const socket = await dial(await listening(hasty))
    const answer = untilClosed(socket)
    socket.write(text)
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('answers 429 beyond the limit of connections, until one of them closes', async () => {
    const listener = await listening(undefined, new ConnectionGate(oneConnection))
    const status = async (): Promise<number> => (await fetch(listener.url)).status
    const socket = await dial(listener)
    expect(await status()).toBe(429)
    socket.destroy()
    await expect.poll(status).toBe(200)
  })

  it('cuts a client that does not read its response', async () => {
    const gate = new ConnectionGate(oneConnection)
    // A busy machine may take longer than the short deadlines to send a request.
    const listener = await listening({ ...hasty, headersMs: 30_000, requestMs: 30_000 }, gate)
    const socket = await dial(listener)
    socket.pause().write('GET /long HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'readable')
    /** Asks the gate itself, so that the answer takes no time. */
    const isFull = (): boolean => {
      const slot = gate.admit('127.0.0.1')
      slot?.release()
      return slot?.refusal !== undefined
    }
    expect(isFull()).toBe(true)
    // Its place is free again.
    await expect.poll(isFull).toBe(false)
    expect((await fetch(listener.url)).status).toBe(200)
    socket.destroy()
  })

  it('survives clients that disconnect in the middle of a request', async () => {
    const listener = await listening()
    for (const text of ['', 'GET', upgrade, upgrade.slice(0, 30)]) {
      const socket = await dial(listener)
      socket.write(text)
      socket.resetAndDestroy()
    }
    expect(await (await fetch(listener.url)).text()).toBe('here')
  })

  it('answers 503 until it has a request handler, and drops upgrades', async () => {
    const listener = await openHttp({ host: '127.0.0.1', port: 0 })
    open.push(listener)
    expect((await fetch(listener.url)).status).toBe(503)
    const socket = await dial(listener)
    const answer = untilClosed(socket)
    socket.write(upgrade)
    expect(await answer).toBe('')
  })

  it('has ended when the last connection has, including upgraded ones, and accepts none meanwhile', async () => {
    const listener = await listening()
    const socket = await dial(listener)
    socket.write(upgrade)
    await once(socket, 'data')
    let ended = false
    const whenEnded = listener.stopAccepting().then(() => (ended = true))
    await expect(fetch(listener.url)).rejects.toThrow()
    expect(ended).toBe(false)
    socket.destroy()
    await whenEnded
  })

  it('cuts open connections when it is closed, also when it is closed twice', async () => {
    const listener = await listening()
    const sockets = [await dial(listener), await dial(listener)]
    sockets[0]?.write(upgrade)
    await new Promise((resolve) => sockets[0]?.once('data', resolve))
    sockets[1]?.write('GET / HTTP/1.1\r\n')
    const closed = Promise.all(sockets.map(untilClosed))
    await Promise.all([listener.close(), listener.close()])
    await closed
  })

  it('rejects a port that is taken, and an address that is not of this machine', async () => {
    const { url } = await listening()
    const port = Number(new URL(url).port)
    await expect(openHttp({ host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'listen-failed',
      message: `Cannot listen on 127.0.0.1:${port}: the port is in use.`,
    })
    await expect(
      openHttp({ host: '192.0.2.1', port: 0 }, { certificate: { certificate: '', key: '' } }),
    ).rejects.toMatchObject({
      code: 'listen-failed',
    })
  })

  it('rejects plain text beyond loopback, and an invalid certificate', async () => {
    await expect(openHttp({ host: '0.0.0.0', port: 0 })).rejects.toMatchObject({ code: 'invalid-options' })
    const error: unknown = await openHttp(
      { host: '127.0.0.1', port: 0 },
      { certificate: { certificate: 'x', key: 'y' } },
    ).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'invalid-options' })
    expect((error as Error).message).not.toMatch(/PEM routines|openssl/i)
  })

  it('listens on IPv6 loopback', async () => {
    const listener = await openHttp({ host: '::1', port: 0 })
    open.push(listener)
    expect(listener.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
    expect((await fetch(listener.url)).status).toBe(503)
  })
})
