import { once } from 'node:events'
import { connect } from 'node:tls'
import { Server } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testCertificates } from '../test-certificates.js'
import { keepaliveOptions, listenForGrpc } from '../../src/listen/grpc-connections.js'
import { openHttp } from '../../src/listen/http-listener.js'

const anyPort = { host: '127.0.0.1', port: 0 }

let ports: readonly [http: number, grpc: number]
const close: (() => unknown)[] = []
beforeAll(async () => {
  const certificate = await testCertificates()
  const http = await openHttp(anyPort, { certificate })
  const server = new Server(keepaliveOptions())
  const grpc = await listenForGrpc(server, { address: anyPort, certificate })
  ports = [Number(new URL(http.url).port), grpc.port]
  close.push(http.close, grpc.stopAccepting, grpc.destroyAll, () => server.forceShutdown())
})
afterAll(() => Promise.all(close.map((part) => part())))

/** The suite that TLS 1.2 agrees on, or `none`. */
const agreed = async (port: number, ciphers: string): Promise<string> => {
  const options = { port, host: '127.0.0.1', rejectUnauthorized: false, ciphers, maxVersion: 'TLSv1.2' } as const
  const socket = connect({ ...options, ALPNProtocols: ['h2', 'http/1.1'] })
  const isSecure = await Promise.race([
    once(socket, 'secureConnect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false)
  const suite = isSecure ? socket.getCipher().name : 'none'
  socket.destroy()
  return suite
}

describe.each([
  ['HTTP', 0],
  ['gRPC', 1],
] as const)('the TLS of %s', (_name, at) => {
  it.each(['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA256'])(
    'does not accept %s, which encrypts with CBC',
    async (suite) => expect(await agreed(ports[at], `${suite}:@SECLEVEL=0`)).toBe('none'),
  )

  it.each(['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'])('accepts %s', async (suite) =>
    expect(await agreed(ports[at], suite)).toBe(suite),
  )
})
