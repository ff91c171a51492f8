import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect } from 'node:http2'
import { Server } from '@grpc/grpc-js'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AcceptedConnections } from '../../src/listen/accepted-connections.js'
import { ConnectionGate } from '../../src/listen/connection-gate.js'
import {
  keepaliveOptions,
  listenForGrpc,
  type GrpcConnections,
  type GrpcListenOptions,
} from '../../src/listen/grpc-connections.js'
import type { ServerCertificate } from '../../../../src/transport/listen-address.js'
import { RequestAllowance, RequestAllowances } from '../../src/listen/request-allowance.js'
import { longIt } from '../../../../test/thorough.js'
import { frameType, preface, rawPeer, readFrames, requests, write } from './http2-peer.js'
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
const timeouts = { handshakeMs: 10_000, keepaliveMs: 150, keepaliveTimeoutMs: 150, sweepMs: 50 }

const listenWith = async (options: Partial<GrpcListenOptions>): Promise<GrpcConnections> => {
  const server = new Server(keepaliveOptions(options.timeouts ?? timeouts))
  const listener = await listenForGrpc(server, { address: anyPort, certificate, timeouts, ...options })
  close.push(() => {
    listener.stopAccepting()
    listener.destroyAll()
    server.forceShutdown()
  })
  return listener
}

const openFiles = (): number => readdirSync('/proc/self/fd').length

describe('connections with a thousand requests that are closed before the responses', () => {
  // Takes a second: the deadlines are those of real sockets.
  it('are released, with their descriptors and their places', async () => {
    const places = 6
    const gate = new ConnectionGate({
      connections: places,
      connectionsPerAddress: places,
      unstarted: 10,
      unstartedPerAddress: 10,
    })
    // Without an allowance, so that only the check of silent connections ends them.
    const accepted = new AcceptedConnections({ gate, headerWithinMs: 10_000 })
    const { port } = await listenWith({ accepted })
    const before = openFiles()
    const attack = Buffer.concat([preface, requests('/no.such/Method', 1_000)])
    const peers = await Promise.all(Array.from({ length: places }, () => rawPeer(port)))
    await Promise.all(peers.map((peer) => write(peer, attack)))
    for (const peer of peers) peer.destroy()
    await expect.poll(openFiles).toBe(before)
    const next = await rawPeer(port)
    expect(accepted.refusal({ remoteAddress: '127.0.0.1', remotePort: next.localPort })).toBeUndefined()
    next.destroy()
  })
})

describe('a live connection', () => {
  // Takes twice as long as a silent connection may last, within which a busy machine answers.
  longIt('stays open without requests, because it answers pings', async () => {
    const patient = { ...timeouts, keepaliveMs: 50, keepaliveTimeoutMs: 2_000 }
    const { port } = await listenWith({ timeouts: patient })
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    close.push(() => {
      session.destroy()
    })
    await once(session, 'connect')
    const timer = setTimeout(
      () => session.emit('survived'),
      2 * (patient.keepaliveMs + patient.keepaliveTimeoutMs + patient.sweepMs),
    )
    await Promise.race([once(session, 'survived'), once(session, 'close')])
    clearTimeout(timer)
    expect(session.closed).toBe(false)
  })
})

describe('a connection whose requests are not sessions with a valid token', () => {
  it('gets GOAWAY beyond its allowance, and its further requests are ignored', async () => {
    const { port } = await listenWith({ allowances: new RequestAllowances(0, () => 0) })
    const peer = await rawPeer(port)
    await write(peer, Buffer.concat([preface, requests('/no.such/Method', 3_000)]))
    const frames = await readFrames(peer)
    const answers = frames.filter(({ type }) => type === frameType.headers).length
    expect(frames.filter(({ type }) => type === frameType.goAway)).not.toEqual([])
    // Time stands still, so that the allowance does not grow meanwhile.
    expect(answers).toBe(500)
  })

  it('has an allowance that grows again, so that occasional requests are never cut', () => {
    let nowMs = 0
    const allowance = new RequestAllowance(250, () => nowMs)
    const answered = (requestCount: number): number =>
      Array.from({ length: requestCount }, () => allowance.take()).filter(Boolean).length
    expect(answered(1_000)).toBe(250)
    nowMs += 1_000
    expect(answered(1_000)).toBe(50)
    nowMs += 3_600_000
    expect(answered(1_000)).toBe(250)
    // A session with a valid token restores the allowance that it used.
    allowance.giveBack()
    expect(answered(10)).toBe(1)
  })
})
