import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { Metadata, Server } from '@grpc/grpc-js'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { developmentCertificates } from '../../src/identity/keys/development-certificates.js'
import { memoryClients } from '../../src/identity/clients/client.js'
import { AcceptedConnections } from '../../src/listen/accepted-connections.js'
import { keepaliveOptions, listenForGrpc } from '../../src/listen/grpc-connections.js'
import { RequestAllowances } from '../../src/listen/request-allowance.js'
import type { ServerCertificate } from '../../../../src/transport/listen-address.js'
import { TrustedProxies } from '../../src/listen/trusted-proxies.js'
import { noopMonitor } from '../../src/monitor/service-monitor.js'
import type { ServiceOptions } from '../../../service/src/configuration/service-options.js'
import type { Service } from '../../../service/src/start/running-service.js'
import { startService } from '../../../service/src/start/service.js'
import { grpcHeaders } from '../../../service/test/interop/grpc-message.js'
import { openStream, plainClient } from '../../../service/test/interop/plain-dataflow-client.js'
import { openSocket } from '../../../service/test/interop/plain-socket-client.js'
import { noLoadLimits, startOf } from '../../../service/test/plain-service.js'
import { proxyHeader, proxyHeaderOf } from './http2-peer.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()
let certificate: ServerCertificate
let ca: Buffer
beforeAll(async () => {
  const certificates = join(folder, 'certificates')
  const { certificate: chain, key } = await developmentCertificates(certificates)
  certificate = { certificate: chain, key }
  ca = await readFile(join(certificates, 'ca.pem'))
})

const close: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const closeService of close.splice(0).reverse()) await closeService()
})

/** The addresses of rejected clients, by interface. */
type Refused = readonly [at: string, address: string]

const service = async (options: Partial<ServiceOptions>): Promise<{ started: Service; refused: Refused[] }> => {
  const refused: Refused[] = []
  const started = await startService({
    clients: memoryClients([]),
    modelFolders: [],
    trustedProxies: ['127.0.0.0/8'],
    monitor: {
      ...noopMonitor,
      authFailed: (_reason, at, address) => {
        refused.push([at, address])
      },
    },
    ...options,
    limits: { ...noLoadLimits, ...options.limits },
  })
  close.push(() => started.close({ drainMs: 0 }))
  return { started, refused }
}

/** Forwards connections to a port, each with these bytes first. */
const balancer = async (port: number, header: Uint8Array): Promise<number> => {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    upstream.write(header)
    for (const [first, second] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(first)
      first.on('error', () => undefined)
      first.once('close', () => {
        open.delete(first)
        second.destroy()
      })
      first.pipe(second)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  close.push(async () => {
    for (const socket of open) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

const portsOf = ({ wsUrl, grpcAddress }: Service): { readonly http: number; readonly grpc: number } => ({
  http: Number(new URL(wsUrl).port),
  grpc: Number(grpcAddress.split(':').at(-1)),
})

interface Ports {
  readonly http: number
  readonly grpc: number
}

/** Requests a session on each interface with an invalid token. */
const askTwice = async ({ http, grpc }: Ports, tls: boolean): Promise<void> => {
  const access = { wsUrl: `${tls ? 'wss' : 'ws'}://127.0.0.1:${http}`, grpc: `127.0.0.1:${grpc}` }
  const reachable = { service: { access }, token: 'none', ...(tls && { ca }) }
  await expect(openSocket(reachable)).rejects.toThrow(/^HTTP 401/)
  const client = plainClient(reachable)
  const stream = openStream(client)
  stream.request(startOf('none'))
  expect((await stream.ended).status).toBe('UNAUTHENTICATED')
  client.close()
}

const bothBehind = async (started: Service, header: Uint8Array): Promise<Ports> => {
  const { http, grpc } = portsOf(started)
  return { http: await balancer(http, header), grpc: await balancer(grpc, header) }
}

describe.each([
  ['TLS', true],
  ['plain text', false],
])('a service behind a balancer, by %s', (_name, tls) => {
  const own = () => (tls ? { certificate } : {})

  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::ffff:c633:6401', '198.51.100.1'],
  ])('identifies its client %s by the PROXY header, on both interfaces', async (address, expected) => {
    const { started, refused } = await service({ ...own(), proxyProtocol: 'required' })
    await askTwice(await bothBehind(started, proxyHeaderOf(address)), tls)
    expect(refused).toEqual([
      ['websocket', expected],
      ['grpc', expected],
    ])
  })

  it.each([
    ['LOCAL', proxyHeader(0x20, 0, Buffer.alloc(0))],
    ['no', Buffer.alloc(0)],
  ])('serves the balancer itself, which sends %s header, with its own address', async (_what, header) => {
    const { started, refused } = await service(own())
    await askTwice(await bothBehind(started, header), tls)
    expect(refused).toEqual([
      ['websocket', '127.0.0.1'],
      ['grpc', '127.0.0.1'],
    ])
  })

  it.each<readonly [string, Partial<ServiceOptions>, Buffer]>([
    ['a malformed header', {}, proxyHeader(0x21, 0x12, Buffer.alloc(12))],
    ['no header though one is required', { proxyProtocol: 'required' }, Buffer.from('GET / HTTP/1.1\r\n')],
    ['a header though it is not trusted', { trustedProxies: ['192.0.2.0/24'] }, proxyHeaderOf('198.51.100.1')],
  ])('cuts or refuses a connection with %s', async (_what, options, bytes) => {
    const { started, refused } = await service({ ...own(), ...options })
    const { http, grpc } = portsOf(started)
    for (const port of [http, grpc]) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write(bytes)
      let answer = ''
      socket.on('data', (data: Buffer) => (answer += data.toString('latin1')))
      await once(socket, 'close')
      expect(answer).not.toMatch(/^HTTP\/1\.1 [123]/)
    }
    expect(refused).toEqual([])
  })
})

describe('a service behind a balancer', () => {
  it('counts the connections of each client, and none of the balancer', async () => {
    const { started } = await service({ limits: { connectionsPerAddress: 1 } })
    const { grpc } = portsOf(started)
    const ask = async (header: Buffer): Promise<string> => {
      const client = plainClient({
        service: { access: { wsUrl: '', grpc: `127.0.0.1:${await balancer(grpc, header)}` } },
        token: '',
      })
      close.push(() => {
        client.close()
      })
      const stream = openStream(client)
      stream.request(startOf('none'))
      return (await stream.ended).status
    }
    const [first, second] = [proxyHeaderOf('198.51.100.1'), proxyHeaderOf('198.51.100.2')]
    expect([await ask(first), await ask(second), await ask(first)]).toEqual([
      'UNAUTHENTICATED',
      'UNAUTHENTICATED',
      'RESOURCE_EXHAUSTED',
    ])
    const local = proxyHeader(0x20, 0, Buffer.alloc(0))
    expect([await ask(local), await ask(local)]).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED'])
  })

  it('accepts X-Forwarded-For only from trusted proxies, at the token endpoint and on the socket', async () => {
    for (const [trustedProxies, expected] of [
      [['127.0.0.1'], '198.51.100.1'],
      [['192.0.2.1'], '127.0.0.1'],
    ] as const) {
      const { started, refused } = await service({ certificate, trustedProxies })
      const headers = {
        'X-Forwarded-For': '203.0.113.5, 198.51.100.1',
        'Content-Type': 'application/x-www-form-urlencoded',
      }
      const posted = request(`${started.authUrl}/connect/token`, { method: 'POST', ca, headers })
      posted.end('grant_type=client_credentials&client_id=a&client_secret=wrong&scope=Ldm_Integration')
      const [answer] = (await once(posted, 'response')) as [{ resume: () => void }]
      answer.resume()
      const upgrade = { ...headers, Connection: 'Upgrade', Upgrade: 'websocket' }
      const asked = request(`${started.authUrl}/recognizer`, { ca, headers: upgrade })
      asked.end()
      const [refusal] = (await once(asked, 'response')) as [{ resume: () => void; statusCode: number }]
      refusal.resume()
      expect(refusal.statusCode).toBe(401)
      expect(refused).toEqual([
        ['token-endpoint', expected],
        ['websocket', expected],
      ])
    }
  })

  it('counts the streams of one connection by X-Forwarded-For, and in total only without it', async () => {
    const { started, refused } = await service({ limits: { unstarted: 9, unstartedPerAddress: 2 } })
    const client = plainClient({ service: { access: { wsUrl: '', grpc: started.grpcAddress } }, token: '' })
    close.push(() => client.close())
    const open = (forwardedFor?: string) => {
      const metadata = new Metadata()
      if (forwardedFor !== undefined) metadata.set('x-forwarded-for', forwardedFor)
      return openStream(client, undefined, {}, metadata)
    }
    const startFrom = async (forwardedFor?: string): Promise<string> => {
      const stream = open(forwardedFor)
      stream.request(startOf('none'))
      return (await stream.ended).status
    }
    const silent = Array.from({ length: 3 }, () => open('203.0.113.5, 198.51.100.1'))
    expect((await Promise.race(silent.map(({ ended }) => ended))).status).toBe('RESOURCE_EXHAUSTED')
    expect(await startFrom('198.51.100.2')).toBe('UNAUTHENTICATED')
    expect(refused).toEqual([['grpc', '198.51.100.2']])
    const nameless = Array.from({ length: 4 }, () => open())
    expect(await startFrom()).toBe('UNAUTHENTICATED')
    for (const { stream } of [...silent, ...nameless]) stream.cancel()
  })

  it('refuses further requests of one client of a shared connection, and serves the others', async () => {
    const trust = { proxies: new TrustedProxies(['127.0.0.1']), isHeaderRequired: false }
    const accepted = new AcceptedConnections({ trust, headerWithinMs: 10_000 })
    // Time stands still, so that the allowance does not grow meanwhile.
    const allowances = new RequestAllowances(0, () => 0)
    const server = new Server(keepaliveOptions())
    const grpc = await listenForGrpc(server, { address: { host: '127.0.0.1', port: 0 }, accepted, allowances })
    const session = connectHttp2(`http://127.0.0.1:${grpc.port}`)
    close.push(
      grpc.stopAccepting,
      grpc.destroyAll,
      () => server.forceShutdown(),
      () => session.destroy(),
    )
    const ask = async (forwardedFor: string): Promise<string> => {
      const headers = { ':method': 'POST', ':path': '/no.such/Method', 'x-forwarded-for': forwardedFor, ...grpcHeaders }
      const stream = session.request(headers).on('error', () => undefined)
      stream.end().resume()
      let isAnswered = false
      stream.once('response', () => (isAnswered = true))
      await new Promise((resolve) => stream.once('close', resolve))
      return isAnswered ? 'answered' : 'reset'
    }
    const answers: string[] = []
    for (let count = 0; count < 21; count += 1) {
      answers.push(...(await Promise.all(Array.from({ length: 100 }, () => ask('198.51.100.1')))))
    }
    expect(answers.filter((answer) => answer === 'answered')).toHaveLength(2_000)
    expect(await ask('198.51.100.2')).toBe('answered')
    expect(session.closed).toBe(false)
  })

  it('limits the wait for the header of a proxy', async () => {
    const trust = { proxies: new TrustedProxies(['127.0.0.1']), isHeaderRequired: false }
    const accepted = new AcceptedConnections({ trust, headerWithinMs: 50 })
    const server = createServer(() => {
      throw new Error('It was accepted.')
    })
    accepted.watch(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    close.push(() => void server.close())
    for (const beginning of [Buffer.alloc(0), proxyHeaderOf('198.51.100.1').subarray(0, 20)]) {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.write(beginning)
      socket.resume()
      await once(socket, 'close')
    }
    await expect.poll(() => accepted.open.size).toBe(0)
  })
})
