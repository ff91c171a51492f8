import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { asyncScheduler, firstValueFrom, timeout } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectSharedIdentity } from '../../src/service/identity/shared/connect.js'
import { MachineExchange } from '../../src/service/machines/machine-exchange.js'
import { createBus, type MessageBus } from '../../src/service/nats/bus.js'
import { connectNats, type NatsConnection } from '../../src/service/nats/connection.js'
import type { NatsOptions } from '../../src/service/nats/nats-options.js'
import { adaptConfiguration, type Changes } from '../interop/balancer.js'
import { natsIsSkipped, natsTitle, startNatsServer, type NatsServer } from '../service/nats/nats-server.js'
import { freePort } from '../transport/tcp-proxy.js'

const passwords = {
  NATS_EDGE: 'the-edge',
  NATS_ENGINE: 'the-engine',
  NATS_ENGINE_GPU: 'the-gpu',
  NATS_OPERATOR: 'the-operator',
  NATS_IDENTITY: 'the-identity',
}
type User = 'edge' | 'engine' | 'identity'

let folder: string
let ca: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deploy-nats-'))
  // For servers and clients, because the servers of a cluster are clients of each other.
  const usage = ['-addext', 'extendedKeyUsage=serverAuth,clientAuth', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'chain.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost']
  const { status, stderr } = spawnSync('openssl', ['req', '-x509', ...key, ...usage, ...files], { encoding: 'utf8' })
  expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
  ca = await readFile(join(folder, 'chain.pem'), 'utf8')
  await writeFile(join(folder, 'ca.pem'), ca)
})
afterAll(() => rm(folder, { recursive: true }))

const opened: { close: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

/** The shipped file with the paths of this test; the port comes from the command line. */
const natsConf = (store: string): Changes => [
  ['/etc/nats/tls', folder],
  ['/var/lib/nats', join(folder, store)],
  ['http: 127.0.0.1:8222', 'http: "127.0.0.1:-1"'],
]

const optionsOf = (url: string, user: User): NatsOptions => ({
  servers: [url.replace('nats:', 'tls:').replace('127.0.0.1', 'localhost')],
  user,
  password: passwords[`NATS_${user.toUpperCase()}` as keyof typeof passwords],
  ca,
})

describe.skipIf(natsIsSkipped)(natsTitle('docs/deploy/nats.conf'), () => {
  let server: NatsServer
  beforeAll(async () => {
    const configFile = await adaptConfiguration('nats.conf', natsConf('one'), folder)
    server = await startNatsServer({ configFile, env: passwords })
  })
  afterAll(() => server.close())

  const connect = async (user: User): Promise<NatsConnection> => {
    const connection = await connectNats(optionsOf(server.url, user), { name: 'test' })
    opened.push(connection)
    return connection
  }
  const busOf = async (user: User): Promise<MessageBus> => createBus(await connect(user))

  it('lets edges and engines exchange what they need', async () => {
    const [edge, engine] = [await busOf('edge'), await busOf('engine')]
    for (const [from, to, subject] of [
      [engine, edge, 'rxspeech.alive.engine'],
      [engine, edge, 'rxspeech.models.engine'],
      [edge, engine, 'rxspeech.who'],
      [edge, engine, 'rxspeech.engine.engine.0123456789abcdef.in'],
      [engine, edge, 'rxspeech.edge.edge.0123456789abcdef.7'],
    ] as const) {
      const received = firstValueFrom(to.messages(subject))
      await expect.poll(() => from.publish(subject, 'x') && to.isUp).toBe(true)
      const again = setInterval(() => from.publish(subject, 'x'), 20)
      expect((await received).subject).toBe(subject)
      clearInterval(again)
    }
  })

  it.each<readonly [User, string]>([
    ['edge', 'rxspeech.engine.>'],
    ['edge', '>'],
    ['engine', 'rxspeech.edge.>'],
    ['engine', 'rxspeech.alive.*'],
    ['identity', 'rxspeech.alive.*'],
    ['identity', '>'],
    ['identity', '$KV.>'],
  ])('refuses %s to listen to %s', async (user, subject) => {
    const bus = await busOf(user)
    await expect(firstValueFrom(bus.messages(subject))).rejects.toMatchObject({ code: 'refused' })
  })

  it.each<readonly [User, string]>([
    ['edge', 'rxspeech.alive.engine'],
    ['edge', 'rxspeech.edge.other.0123456789abcdef.1'],
    ['engine', 'rxspeech.who'],
    ['engine', 'rxspeech.engine.other.0123456789abcdef.in'],
    ['identity', '$KV.other.client.acme'],
    ['identity', '$JS.API.STREAM.DELETE.KV_rxspeech-identity'],
    ['identity', '$JS.API.STREAM.CREATE.other'],
    ['identity', 'rxspeech.who'],
  ])('refuses %s to publish to %s', async (user, subject) => {
    const connection = await connect(user)
    const refused = (async () => {
      for await (const status of connection.status()) if (status.type === 'error') return String(status.error)
      return 'closed'
    })()
    connection.publish(subject, 'x')
    expect(await refused).toMatch(/permissions violation for publish/i)
  })

  it('has no JetStream where audio is, so that nobody can store it', async () => {
    for (const user of ['edge', 'engine'] as const) {
      const connection = await connect(user)
      await expect(jetstreamManager(connection, { timeout: 500 })).rejects.toThrow()
    }
  })

  it('keeps identity apart from audio, also where subjects have the same name', async () => {
    const [edge, identity] = [await busOf('edge'), await busOf('identity')]
    const heard = firstValueFrom(edge.messages('rxspeech.edge.edge.*.*').pipe(timeout(300)))
    identity.publish('rxspeech.identity.rxspeech-identity.counts', 'x')
    await expect(heard).rejects.toThrow(/Timeout/)
  })

  it('refuses a wrong password, plain text and a message of 100 kB', async () => {
    const options = optionsOf(server.url, 'edge')
    const attempt = { name: 'test', connectWithinMs: 500 }
    await expect(connectNats({ ...options, password: 'wrong' }, attempt)).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    await expect(connectNats({ servers: [server.url] }, attempt)).rejects.toThrow()
    await expect(connectNats({ ...options, ca: undefined }, attempt)).rejects.toMatchObject({
      code: 'connection-failed',
    })
    const connection = await connect('edge')
    expect(() => connection.publish('rxspeech.who', new Uint8Array(300_000))).toThrow(/max_payload/i)
  })

  it('gives the identity of several machines all that it needs', async () => {
    const faults: unknown[] = []
    const open = async () => {
      const shared = await connectSharedIdentity(optionsOf(server.url, 'identity'), {
        name: 'test',
        onFault: (error) => faults.push(error),
      })
      opened.push(shared)
      return shared
    }
    const [one, two] = [await open(), await open()]
    await one.identity.revoke('old', Date.now() - 1)
    await two.identity.revoke('t1')
    await two.identity.revoke('t1')
    await expect.poll(() => one.identity.isRevoked('t1')).toBe(true)
    expect([...(await open()).identity.revoked().keys()]).toEqual(['t1'])
    const origin = { issuer: 'a', audience: 'b' }
    const [first, second] = [one, two].map(
      ({ bus, bucket }) =>
        new MachineExchange({ bus, bucket, origin, scheduler: asyncScheduler, onFault: (error) => faults.push(error) }),
    )
    const failures: string[] = []
    second?.onFailure((keys) => failures.push(...keys))
    await expect
      .poll(() => {
        first?.publishFailure(['pair:x'])
        return failures
      })
      .toContain('pair:x')
    first?.close()
    second?.close()
    await expect.poll(() => one.identity.ageMs()).toBeLessThan(2_000)
    expect(faults).toEqual([])
  })
})

describe.skipIf(natsIsSkipped)(natsTitle('docs/deploy/nats-cluster.conf'), () => {
  it('makes a cluster of three, whose identity survives the loss of one server', async () => {
    const routes = [await freePort(), await freePort(), await freePort()]
    const servers = await Promise.all(
      routes.map(async (route, index) => {
        const own = await mkdtemp(join(folder, 'server-'))
        await adaptConfiguration('nats.conf', natsConf(`store-${index}`), own)
        const configFile = await adaptConfiguration(
          'nats-cluster.conf',
          [
            ['/etc/nats/tls', folder],
            ['0.0.0.0:6222', `127.0.0.1:${route}`],
            ...routes.map((port, other) => [`nats-${other}.nats:6222`, `localhost:${port}`] as const),
          ],
          own,
        )
        return startNatsServer({
          configFile,
          env: { ...passwords, HOSTNAME: `nats-${index}`, NATS_ROUTE: `localhost:${route}` },
        })
      }),
    )
    try {
      const options = {
        ...optionsOf('', 'identity'),
        servers: servers.flatMap(({ url }) => optionsOf(url, 'identity').servers),
        replicas: 3,
      }
      const open = () => connectSharedIdentity(options, { name: 'test', onFault: () => undefined })
      // Also while the servers agree on a leader.
      const [one, two] = await Promise.all([open(), open()])
      opened.push(one, two)
      await one.identity.revoke('before')
      await expect.poll(() => two.identity.isRevoked('before')).toBe(true)
      await servers[0]?.kill()
      await expect
        .poll(() =>
          one.identity.revoke('after').then(
            () => true,
            () => false,
          ),
        )
        .toBe(true)
      await expect.poll(() => [one, two].every(({ identity }) => identity.isRevoked('after'))).toBe(true)
    } finally {
      for (const one of opened.splice(0)) await one.close()
      for (const server of servers) await server.close()
    }
  })
})
