import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, connect, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'
import { testCertificates } from '../../../server/test/test-certificates.js'
import { adaptConfiguration, haproxyChanges, haproxyPackage, startHaproxy, type Balancer } from '../interop/balancer.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const listening = async (server: Server, host: string, port = 0): Promise<number> => {
  server.listen(port, host)
  await once(server, 'listening')
  cleanups.push(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

/** Answers each connection, with or without a PROXY header and TLS, as an edge that is ready and says its name. */
const edge = (name: string): Server =>
  createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(`HTTP/1.0 200 OK\r\n\r\n${name}`))
  })

/** A name server that has one address for every name. */
const nameServer = async (address: () => string): Promise<number> => {
  const server: UdpSocket = createSocket('udp4')
  server.on('message', (question, from) => {
    const type = question.readUInt16BE(question.indexOf(0, 12) + 1)
    const end = question.indexOf(0, 12) + 5
    // One question, and for an A record one answer: the name of the question, class IN, one second.
    const head = Buffer.from(question.subarray(0, end))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt32BE(0x0001_0000 + (type === 1 ? 1 : 0), 4)
    head.writeUInt32BE(0, 8)
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address().split('.').map(Number)])
    server.send(type === 1 ? Buffer.concat([head, answer]) : head, from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => new Promise<void>((resolve) => server.close(resolve)))
  return server.address().port
}

const start = async (file: string, ports: readonly number[]): Promise<Balancer> => {
  const balancer = await startHaproxy(file, ports)
  cleanups.push(() => balancer.close())
  return balancer
}

/** What the server behind a port says. */
const ask = (port: number): Promise<string> =>
  new Promise((resolve) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('hello'))
    socket.on('data', (bytes: Buffer) => (said += bytes.toString()))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(said.split('\r\n\r\n')[1] ?? ''))
  })

describe.skipIf(haproxyPackage.areAbsent)(haproxyPackage.title('docs/deploy/haproxy-machines.cfg'), () => {
  const plainChecks = ['check-ssl verify required ca-file /etc/haproxy/services-ca.pem ', ''] as const

  it('follows an edge to another address, and shows statistics and metrics', async () => {
    let address = '127.0.0.2'
    const port = await listening(edge('at the old address'), '127.0.0.2')
    await listening(edge('at the new address'), '127.0.0.3', port)
    const dns = await nameServer(() => address)
    const ports = [await freePort(), await freePort()] as const
    const statistics = await freePort()
    const file = await adaptConfiguration(
      'haproxy-machines.cfg',
      [
        ...haproxyChanges(ports),
        plainChecks,
        ['init-addr last,libc,none', 'init-addr none'],
        ['127.0.0.1:8404', `127.0.0.1:${statistics}`],
        ['parse-resolv-conf', `nameserver own 127.0.0.1:${dns}\n  timeout resolve 100ms\n  hold valid 100ms`],
        [/edge-(\d):844(\d) port 9464/g, `edge-$1:${port} port ${port}`],
      ],
      folderOfTest(),
    )
    await start(file, ports)
    await expect.poll(() => ask(ports[0])).toBe('at the old address')
    address = '127.0.0.3'
    await expect.poll(() => ask(ports[0])).toBe('at the new address')
    const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${statistics}${path}`)).text()
    expect(await page('/')).toContain('Statistics Report')
    expect(await page('/metrics')).toMatch(/haproxy_server_status{proxy="recognizers",server="one",state="UP"} 1/)
  })

  it('spreads tenants over cells by the names in TLS, as SCALING says', async () => {
    const { key, certificate } = await testCertificates()
    const cells = await Promise.all(
      ['cell 1', 'cell 2'].map((name) =>
        listening(
          // The PROXY header comes before TLS, so an edge of ours reads it; this one has none.
          createTlsServer({ key, cert: certificate }, (socket) => void socket.end(name)),
          '127.0.0.1',
        ),
      ),
    )
    const checks = await listening(edge('ready'), '127.0.0.1')
    const folder = folderOfTest()
    const page = await readFile('docs/SCALING.md', 'utf8')
    const frontends = /^```haproxy\n([^]*?)^```/m.exec(page)?.[1] ?? ''
    const ports = [await freePort(), await freePort()] as const
    const whole = await readFile('docs/deploy/haproxy-machines.cfg', 'utf8')
    const changes: readonly (readonly [string | RegExp, string])[] = [
      ...haproxyChanges(ports),
      plainChecks,
      [' send-proxy-v2', ''],
      [' resolvers names', ''],
      ['127.0.0.1:8404', `127.0.0.1:${await freePort()}`],
      ['/etc/haproxy/cells.map', join(folder, 'cells.map')],
      [/cell-1-edge-\d:\d+ port 9464/g, `127.0.0.1:${cells[0] ?? 0} port ${checks}`],
      [/cell-2-edge-\d:\d+ port 9464/g, `127.0.0.1:${cells[1] ?? 0} port ${checks}`],
    ]
    let text = whole.slice(0, whole.indexOf('frontend recognizer')) + frontends
    for (const [from, to] of changes) text = text.replaceAll(from, to)
    await writeFile(join(folder, 'haproxy.cfg'), text)
    await writeFile(join(folder, 'cells.map'), 'acme.speech.example.com 2\n')
    await start(join(folder, 'haproxy.cfg'), ports)
    const cellOf = (port: number, servername: string): Promise<string> =>
      new Promise((resolve) => {
        let said = ''
        const socket = connectTls({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
        socket.on('data', (bytes: Buffer) => (said += bytes.toString()))
        socket.on('error', () => undefined)
        socket.on('close', () => resolve(said))
      })
    for (const port of ports) {
      await expect.poll(() => cellOf(port, 'ACME.speech.example.com')).toBe('cell 2')
      expect(await cellOf(port, 'other.speech.example.com')).toBe('cell 1')
    }
  })
})
