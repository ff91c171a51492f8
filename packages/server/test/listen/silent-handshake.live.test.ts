import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { Server } from '@grpc/grpc-js'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AcceptedConnections } from '../../src/listen/accepted-connections.js'
import { ConnectionGate } from '../../src/listen/connection-gate.js'
import { defaultGrpcTimeouts, listenForGrpc } from '../../src/listen/grpc-connections.js'
import { openHttp } from '../../src/listen/http-listener.js'
import type { ServerCertificate } from '../../../../src/transport/listen-address.js'
import { testCertificates } from '../test-certificates.js'

let certificate: ServerCertificate
beforeAll(async () => {
  certificate = await testCertificates()
})

const close: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const closeService of close.splice(0)) await closeService()
})

const anyPort = { host: '127.0.0.1', port: 0 }
const limits = { connections: 2, connectionsPerAddress: 2, unstarted: 10, unstartedPerAddress: 10 }

const listeners = {
  http: async (timeoutMs: number): Promise<number> => {
    const timeouts = { headersMs: timeoutMs, requestMs: timeoutMs, checkMs: 20, idleMs: 60_000 }
    const http = await openHttp(anyPort, { certificate, timeouts, gate: new ConnectionGate(limits) })
    close.push(http.close)
    return Number(new URL(http.url).port)
  },
  grpc: async (timeoutMs: number): Promise<number> => {
    const server = new Server()
    const { port, stopAccepting, destroyAll } = await listenForGrpc(server, {
      address: anyPort,
      certificate,
      accepted: new AcceptedConnections({ gate: new ConnectionGate(limits), headerWithinMs: timeoutMs }),
      timeouts: { ...defaultGrpcTimeouts, handshakeMs: timeoutMs },
    })
    close.push(() => {
      stopAccepting()
      destroyAll()
      server.forceShutdown()
    })
    return port
  },
}

/** A connection that sends nothing after this. */
const dial = async (port: number, first = ''): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  close.push(() => void socket.destroy())
  await once(socket, 'connect')
  if (first !== '') socket.write(Buffer.from(first, 'hex'))
  return socket
}

const closed = async (socket: Socket): Promise<void> => {
  socket.resume()
  if (!socket.closed) await once(socket, 'close')
}

const shaken = async (port: number): Promise<TLSSocket> => {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] })
  socket.on('error', () => undefined)
  close.push(() => void socket.destroy())
  const cut = () => Promise.reject(new Error('cut'))
  await Promise.race([once(socket, 'secureConnect').catch(cut), once(socket, 'close').then(cut, cut)])
  return socket
}

const isAdmitted = (port: number): Promise<boolean> =>
  shaken(port).then(
    () => true,
    () => false,
  )

describe.each(['http', 'grpc'] as const)('a TLS peer of the %s listener', (kind) => {
  it.each([
    ['sends nothing', ''],
    ['disconnects within its first record', '160301020001'],
  ])('is cut in time when it %s, and releases its place', async (_what, first) => {
    const port = await listeners[kind](150)
    for (const socket of await Promise.all([dial(port, first), dial(port, first)])) await closed(socket)
    // Both places are free again. A busy machine may need longer for a handshake than the listener waits.
    await expect.poll(() => Promise.all([isAdmitted(port), isAdmitted(port)])).toEqual([true, true])
  })

  it('counts before its handshake: connections far beyond the limit are cut immediately', async () => {
    const port = await listeners[kind](60_000)
    const silent: Socket[] = []
    for (let count = 0; count < 4; count += 1) silent.push(await dial(port))
    await closed(await dial(port))
    await expect(shaken(port)).rejects.toThrow('cut')
    expect(silent.map((socket) => socket.closed)).toEqual([false, false, false, false])
    silent[0]?.destroy()
    await closed(silent[0] ?? (await dial(port)))
    await expect.poll(() => isAdmitted(port)).toBe(true)
  })
})
