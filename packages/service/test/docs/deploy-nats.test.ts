import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { asyncScheduler, firstValueFrom, timeout } from 'rxjs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connectSharedIdentity } from '../../../nats/src/identity/connect.js'
import { MachineExchange } from '../../../nats/src/machines/machine-exchange.js'
import { createBus, type MessageBus } from '../../../nats/src/connection/bus.js'
import { connectNats, type NatsConnection } from '../../../nats/src/connection/connection.js'
import type { NatsOptions } from '../../../nats/src/connection/nats-options.js'
import { adaptConfiguration, type Changes } from '../interop/balancer.js'
import {
  natsIsSkipped,
  natsTitle,
  startNatsServer,
  type NatsServer,
} from '../../../nats/test/connection/nats-server.js'
import { installCommand, prepareSecrets } from '../machines/page-commands.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const passwords = {
  NATS_EDGE: 'the-edge',
  NATS_ENGINE: 'the-engine',
  NATS_ENGINE_GPU: 'the-gpu',
  NATS_OPERATOR: 'the-operator',
  NATS_IDENTITY: 'the-identity',
}
type User = 'edge' | 'engine' | 'engine-gpu' | 'identity'

const folder = temporaryFolder()
let ca: string
/** A file that the first step of SCALING.md makes. */
const made = (name: string): string => join(folder, 'deploy', name)
beforeAll(async () => {
  const bin = join(folder, 'bin')
  await installCommand(bin)
  // The servers of this test are at localhost.
  const atLocalhost = (commands: string): string =>
    commands.replaceAll(/(certify \$machine(?:-routes)? .*DNS:\$machine)$/gm, '$1,DNS:localhost')
  await prepareSecrets(join(folder, 'deploy'), { PATH: `${bin}:${process.env['PATH'] ?? ''}` }, atLocalhost)
  ca = await readFile(made('ca.crt'), 'utf8')
})

const opened: { close: () => Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

/** The shipped file with the paths of this test; the port comes from the command line. */
const natsConf = (store: string, machine = 'nats-0'): Changes => [
  ['/etc/nats/tls/chain.pem', made(`${machine}.crt`)],
  ['/etc/nats/tls/key.pem', made(`${machine}.key`)],
  ['/var/lib/nats', join(folder, store)],
  ['http: 127.0.0.1:8222', 'http: "127.0.0.1:-1"'],
]

const optionsOf = (url: string, user: User): NatsOptions => ({
  servers: [url.replace('nats:', 'tls:').replace('127.0.0.1', 'localhost')],
  user,
  password: passwords[`NATS_${user.toUpperCase().replace('-', '_')}` as keyof typeof passwords],
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
    ] as const) {
      const received = firstValueFrom(to.messages(subject))
      await expect.poll(() => from.publish(subject, 'x') && to.isUp).toBe(true)
      const again = setInterval(() => from.publish(subject, 'x'), 20)
      expect((await received).subject).toBe(subject)
      clearInterval(again)
    }
  })

  it('lets an engine answer what was sent to it, as often as it wants, and nothing else', async () => {
    const [edge, engine, other] = [await busOf('edge'), await busOf('engine'), await busOf('engine-gpu')]
    const [request, attempt] = ['rxspeech.engine.engine.0123456789abcdef.in', 'rxspeech.edge.edge.0123456789abcdef.7']
    const answers: string[] = []
    edge.messages(attempt).subscribe(({ payload }) => answers.push(Buffer.from(payload).toString()))
    engine.messages(request).subscribe(({ replyTo }) => {
      for (let at = 0; at < 500; at += 1) engine.publish(replyTo, `answer ${at}`)
    })
    const refused = firstValueFrom(other.refused$)
    other.publish(attempt, 'forged')
    expect(await refused).toBe(attempt)
    await expect
      .poll(() => {
        if (answers.length === 0) edge.publish(request, 'segment', attempt)
        return answers.length
      })
      .toBeGreaterThanOrEqual(500)
    expect(answers).not.toContain('forged')
    expect(engine.refusedCount).toBe(0)
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
    ['engine', 'rxspeech.edge.edge.0123456789abcdef.1'],
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

  it('has no JetStream where audio is, so that it cannot be stored', async () => {
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
  const ports: number[] = []
  let servers: NatsServer[] = []
  beforeAll(async () => {
    for (let index = 0; index < 3; index += 1) ports.push(await freePort())
    servers = await Promise.all(
      ports.map(async (port, index) => {
        const own = await mkdtemp(join(folder, 'server-'))
        const machine = `nats-${index}`
        await adaptConfiguration('nats.conf', natsConf(`store-${index}`, machine), own)
        const configFile = await adaptConfiguration(
          'nats-cluster.conf',
          [
            ['/etc/nats/routes/chain.pem', made(`${machine}-routes.crt`)],
            ['/etc/nats/routes/key.pem', made(`${machine}-routes.key`)],
            ['/etc/nats/routes/ca.pem', made('routes-ca.crt')],
            ['0.0.0.0:6222', `127.0.0.1:${port}`],
            ...ports.map((other, at) => [`nats-${at}.nats:6222`, `localhost:${other}`] as const),
          ],
          own,
        )
        return startNatsServer({
          configFile,
          env: { ...passwords, HOSTNAME: machine, NATS_ROUTE: `localhost:${port}` },
        })
      }),
    )
  })
  afterAll(async () => {
    for (const server of servers) await server.close()
  })

  longIt('makes a cluster of three, whose identity survives the loss of one server', async () => {
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
    await servers[2]?.kill()
    await expect
      .poll(() =>
        one.identity.revoke('after').then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    await expect.poll(() => [one, two].every(({ identity }) => identity.isRevoked('after'))).toBe(true)
  })

  /** A server that a machine starts with a certificate that it has; with `isRoute` it wants to join the cluster. */
  const startWith = async (file: string, isRoute: boolean): Promise<NatsServer> => {
    const [cert, key, routesCa] = [made(`${file}.crt`), made(`${file}.key`), made('routes-ca.crt')]
    const tls = `tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${routesCa}" }`
    const accounts = 'accounts { ENGINES { users: [{ user: thief, password: secret }] } }'
    const cluster = `cluster { name: rxspeech, listen: "127.0.0.1:-1", routes: ["tls://localhost:${ports[0] ?? 0}"], ${tls} }`
    const server = await startNatsServer({ config: isRoute ? `${accounts}\n${cluster}` : tls })
    opened.push(server)
    return server
  }
  /** What a client of such a server hears of the cluster, until `isOver`. */
  const overheard = async (file: string, isOver: (heard: readonly string[]) => boolean): Promise<readonly string[]> => {
    const { url } = await startWith(file, true)
    const thief = createBus(await connectNats({ servers: [url], user: 'thief', password: 'secret' }, { name: 'thief' }))
    const engine = createBus(await connectNats(optionsOf(servers[0]?.url ?? '', 'engine'), { name: 'engine' }))
    opened.push(thief, engine)
    const heard: string[] = []
    thief.messages('>').subscribe(({ subject }) => heard.push(subject))
    await expect.poll(() => engine.publish('rxspeech.alive.engine', 'x') && isOver(heard)).toBe(true)
    return heard
  }

  it.each(['engine-1', 'nats-1'])('refuses a server with the certificate of %s as a route', async (file) => {
    const refusals = (): number => servers[0]?.log().match(/TLS route handshake error/g)?.length ?? 0
    const before = refusals()
    // It tries again after a second.
    expect(await overheard(file, () => refusals() >= before + 2)).toEqual([])
  })

  it('accepts a server with a certificate for routes, which hears everything', async () => {
    expect(await overheard('nats-1-routes', (heard) => heard.length > 0)).toContain('rxspeech.alive.engine')
  })

  it('has clients that refuse a server with the certificate of an engine machine', async () => {
    const attempt = { name: 'test', connectWithinMs: 500 }
    const { url } = await startWith('engine-1', false)
    await expect(connectNats(optionsOf(url, 'edge'), attempt)).rejects.toMatchObject({
      code: 'connection-failed',
      message: expect.stringMatching(/altnames|hostname|certificate/i) as string,
    })
    const genuine = await startWith('nats-1', false)
    opened.push(await connectNats(optionsOf(genuine.url, 'edge'), attempt))
  })

  it.each([
    ['engine-1', 'sslclient', 'engine-1', false],
    ['engine-1', 'sslserver', 'nats-0', false],
    ['engine-1', 'sslserver', 'speech.example.com', false],
    ['nats-0', 'sslserver', 'speech.example.com', false],
    ['nats-0', 'sslclient', 'nats-0', false],
    ['edge-1', 'sslserver', 'speech.example.com', true],
    ['nats-0', 'sslserver', 'nats-0', true],
  ])('has a certificate of %s that for %s as %s is valid: %s', (machine, purpose, name, isValid) => {
    const args = [
      'verify',
      '-CAfile',
      made('ca.crt'),
      '-purpose',
      purpose,
      '-verify_hostname',
      name,
      made(`${machine}.crt`),
    ]
    expect(spawnSync('openssl', args).status === 0).toBe(isValid)
  })
})
