import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { callModels, firstLine, main, run } from '../cli/command.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import {
  bothTransports,
  expectSame,
  onceStreaming,
  SpokenCall,
  statesOf,
  undisturbed,
  type CallOutcome,
} from '../faults/spoken-call.js'
import {
  adaptConfiguration,
  haproxyChanges,
  haproxyPackage,
  nginxChanges,
  nginxPackage,
  startHaproxy,
  startNginx,
  type Balancer,
  type Changes,
} from '../interop/balancer.js'
import { openSocket } from '../interop/plain-socket-client.js'
import { noLoadLimits } from '../plain-service.js'
import { sessionOptions, type SpokenService } from '../interop/session-options.js'
import {
  natsIsSkipped,
  natsTitle,
  startNatsServer,
  type NatsServer,
} from '../../../nats/test/connection/nats-server.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'

/** The reference is faster than real time, and the processors may be busy with other tests. */
const withoutLimits = Object.entries({ ...noLoadLimits, maxPacePercent: 0 })
  .map(([name, value]) => `  ${name}: ${value}\n`)
  .join('')

type Ports = readonly [http: number, grpc: number]

/** A balancer of docs/deploy in front of the edges. */
interface BalancerFile {
  readonly name: string
  readonly needs: typeof haproxyPackage
  /** What it needs in the configuration of the edges. */
  readonly trust: string
  /** @returns the ports of its interfaces */
  readonly start: (
    folder: string,
    edges: readonly Edge[],
  ) => Promise<{ readonly balancer: Balancer; readonly ports: Ports }>
}

const haproxyFile: BalancerFile = {
  name: 'HAProxy',
  needs: haproxyPackage,
  trust: 'trustedProxies: [127.0.0.1]\nproxyProtocol: required\n',
  start: async (folder, edges) => {
    const ports: Ports = [await freePort(), await freePort()]
    const addresses = edges.flatMap(({ http, grpc, operations }, index): Changes => [
      [`edge-${index + 1}:8443 port 9464`, `127.0.0.1:${http} port ${operations}`],
      [`edge-${index + 1}:8444 port 9464`, `127.0.0.1:${grpc} port ${operations}`],
    ])
    const changes: Changes = [
      ...haproxyChanges(ports),
      ['127.0.0.1:8404', `127.0.0.1:${await freePort()}`],
      // On loopback /readyz is plain text.
      ['check-ssl verify required ca-file /etc/haproxy/services-ca.pem ', ''],
      ...addresses,
    ]
    const file = await adaptConfiguration('haproxy-machines.cfg', changes, folder)
    return { balancer: await startHaproxy(file, ports), ports }
  },
}

const nginxFile: BalancerFile = {
  name: 'nginx',
  needs: nginxPackage,
  trust: 'trustedProxies: [127.0.0.1]\n',
  start: async (folder, edges) => {
    const port = await freePort()
    await copyFile(join(folder, 'chain.pem'), join(folder, 'services-ca.pem'))
    const addresses = edges.flatMap(({ http, grpc }, index): Changes => [
      [`edge-${index + 1}:8443`, `127.0.0.1:${http}`],
      [`edge-${index + 1}:8444`, `127.0.0.1:${grpc}`],
    ])
    const changes: Changes = [
      ...nginxChanges(folder, port),
      [/(_ssl_name) speech\.internal/g, '$1 localhost'],
      ...addresses,
    ]
    const file = await adaptConfiguration('nginx-machines.conf', changes, folder)
    return { balancer: await startNginx(file, folder, port), ports: [port, port] }
  },
}

interface Edge {
  readonly http: number
  readonly grpc: number
  readonly operations: number
  readonly child: ChildProcess
  readonly log: () => string
}

// Processes, a balancer and a call in real time.
describe.each([haproxyFile, nginxFile])('behind $name', ({ name, needs, trust, start }) => {
  describe.skipIf(natsIsSkipped || needs.areAbsent)(
    natsTitle(needs.title('the files of docs/deploy for several machines')),
    () => {
      let folder: string
      let ca: string
      let nats: NatsServer
      let balancer: Balancer | undefined
      let service: SpokenService
      let subscriber: { readonly clientId: string; readonly clientSecret: string }
      const edges: Edge[] = []
      const engines: ChildProcess[] = []
      const engineFiles: string[] = []
      const passwords = {
        NATS_EDGE: 'the-password-of-edges',
        NATS_ENGINE: 'the-password-of-engines',
        NATS_ENGINE_GPU: 'the-password-of-gpus',
        NATS_OPERATOR: 'the-password-of-operators',
        NATS_IDENTITY: 'the-password-of-identity',
      }
      const configurations: string[] = []

      /** The places in which each file looks for its secrets, in one folder. */
      const places = async (): Promise<Changes> => {
        const changes: [string, string][] = []
        for (const [place, files] of Object.entries({
          '/etc/nats/tls': ['chain.pem', 'key.pem', 'ca.pem'],
          '/run/secrets/edge': ['tls.crt', 'tls.key'],
          '/run/secrets/engine': ['tls.crt', 'tls.key'],
          '/run/secrets/nats': ['ca.crt'],
        })) {
          const own = join(folder, place)
          await mkdir(own, { recursive: true })
          for (const file of files) {
            const source = /key$|key\.pem/.test(file) ? 'key.pem' : 'chain.pem'
            await writeFile(join(own, file), await readFile(join(folder, source)), { mode: 0o600 })
          }
          changes.push([place, own])
        }
        return changes
      }

      const launch = async (
        args: readonly string[],
      ): Promise<{ readonly child: ChildProcess; readonly log: () => string }> => {
        const env = { PATH: process.env['PATH'] ?? '', ...passwords }
        const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
        let log = ''
        child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()))
        await firstLine(child).catch(() => {
          throw new Error(`${args.join(' ')}: ${log}`)
        })
        return { child, log: () => log }
      }

      const startEngines = async (): Promise<void> => {
        for (const file of engineFiles) engines.push((await launch(['engine', '--config', file])).child)
      }

      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), 'deploy-'))
        const usage = [
          '-addext',
          'extendedKeyUsage=serverAuth,clientAuth',
          '-addext',
          'subjectAltName=DNS:localhost,IP:127.0.0.1',
        ]
        const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost']
        const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'chain.pem')]
        expect(spawnSync('openssl', ['req', '-x509', ...key, ...usage, ...files]).status).toBe(0)
        ca = await readFile(join(folder, 'chain.pem'), 'utf8')
        const secrets = await places()
        const changesIn = (name: string): Changes => secrets.filter(([place]) => (place as string).includes(name))

        const conf: Changes = [
          ...changesIn('/etc/nats'),
          ['/var/lib/nats', join(folder, 'store')],
          ['http: 127.0.0.1:8222', 'http: "127.0.0.1:-1"'],
        ]
        nats = await startNatsServer({
          configFile: await adaptConfiguration('nats.conf', conf, folder),
          env: passwords,
        })
        const server: Changes = [['tls://nats:4222', `tls://localhost:${nats.port}`], ...changesIn('/run/secrets/nats')]

        await run(['keys', 'rotate', '--file', join(folder, 'keys.json')])
        await chmod(join(folder, 'keys.json'), 0o440)

        for (let number = 0; number < 2; number += 1) {
          const own = await mkdtemp(join(folder, 'engine-'))
          const changes: Changes = [
            ...[...server, ...changesIn('/run/secrets/engine')],
            ['/srv/rxspeech/models', callModels],
            ['0.0.0.0:9464', '127.0.0.1:0'],
          ]
          const file = await adaptConfiguration('engine.yaml', changes, own)
          engineFiles.push(file)
        }
        await startEngines()
        for (let number = 0; number < 2; number += 1) {
          const own = await mkdtemp(join(folder, 'edge-'))
          const [http, grpc, operations] = [await freePort(), await freePort(), await freePort()]
          const changes: Changes = [
            ...[...server, ...changesIn('/run/secrets/edge')],
            ['/run/secrets/keys/keys.json', join(folder, 'keys.json')],
            ['0.0.0.0:8443', `127.0.0.1:${http}`],
            ['0.0.0.0:8444', `127.0.0.1:${grpc}`],
            ['0.0.0.0:9464', `127.0.0.1:${operations}`],
            // The balancer is on this machine.
            ['limits:\n', `${trust}limits:\n${withoutLimits}`],
          ]
          const file = await adaptConfiguration('edge.yaml', changes, own)
          configurations.push(file)
          expect(await run(['serve', '--config', file, '--check'], { env: passwords })).toMatchObject({ code: 0 })
          edges.push({ ...(await launch(['serve', '--config', file])), http, grpc, operations })
        }
        const started = await start(folder, edges)
        balancer = started.balancer
        const { ports } = started
        const created = await run(['subscription', 'create', '--json', '--config', configurations[0] ?? ''], {
          env: passwords,
        })
        expect([created.code, created.stderr]).toEqual([0, ''])
        subscriber = JSON.parse(created.stdout) as typeof subscriber
        const access = {
          wsUrl: `wss://127.0.0.1:${ports[0]}`,
          grpc: `127.0.0.1:${ports[1]}`,
          tenant: 'Default',
          project: 'transcribe',
        }
        service = { service: { access }, ca: Buffer.from(ca), token: '' }
        service = { ...service, token: await newToken() }
      })
      afterAll(async () => {
        await balancer?.close()
        const children = [...edges.map(({ child }) => child), ...engines].filter(
          ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
        )
        await Promise.all(
          children.map(async (child) => {
            child.kill('SIGKILL')
            await once(child, 'exit')
          }),
        )
        await nats.close()
        await rm(folder, { recursive: true })
      })

      const newToken = async (): Promise<string> => {
        const { wsUrl } = service.service.access
        const request = { authUrl: wsUrl.replace(/^wss/, 'https'), ...subscriber, fetch: nodeFetch({ ca }) }
        return (await firstValueFrom(requestToken(request))).accessToken
      }

      it('accept every token on every machine: 60 of 60 sessions', async () => {
        const results: string[] = []
        for (let start = 0; start < 60; start += 1) {
          const token = start % 10 === 0 ? await newToken() : service.token
          results.push(
            await openSocket({ ...service, token }).then(
              (socket) => {
                socket.close()
                return 'accepted'
              },
              (error: unknown) => String(error),
            ),
          )
        }
        expect(results.filter((result) => result !== 'accepted')).toEqual([])
      })

      // Only haproxy asks the edges whether they are ready.
      const itBehindHaproxy = name === 'HAProxy' ? it : () => undefined
      itBehindHaproxy(
        'issue tokens and let a call wait while no engine process runs, and it has every word',
        async () => {
          const call = await SpokenCall.until(8_640)
          const reference = await undisturbed(service, call)
          const since = edges.map(({ log }) => log().length)
          const logged = (): readonly string[] => edges.map(({ log }, index) => log().slice(since[index]))
          for (const child of engines.splice(0)) {
            child.kill('SIGKILL')
            await once(child, 'exit')
          }
          const unserved = (log: string): boolean => log.includes('No engine process serves these models')
          await expect.poll(() => logged().every(unserved)).toBe(true)
          for (const { operations } of edges) {
            expect(await (await fetch(`http://127.0.0.1:${operations}/readyz`)).text()).toBe('ready\n')
          }
          const token = await newToken()
          const { websocket } = sessionOptions({ ...service, token }, call.format, 'call')
          const session = recognize({ ...websocket, resumption: { firstDelayMs: 100, maxDelayMs: 500 } })
          const outcome = outcomeOf(session(call.played(1, 0, () => undefined)))
          // Each refused attempt is a session of an edge.
          const attempts = (): number => logged().join('').split('Session ended').length - 1
          await expect.poll(attempts).toBeGreaterThan(4)
          await startEngines()
          expectSame({ over: 'websocket', ...(await outcome) }, reference, call)
        },
      )

      it('lose no word of a call, over either transport, when a machine and an engine process are killed', async () => {
        const call = await SpokenCall.until(8_640)
        const reference = await undisturbed(service, call)
        const since = edges.map(({ log }) => log().length)
        let isKilled = false
        const kill = (): void => {
          if (isKilled) return
          isKilled = true
          // Both sessions may be on the same machine.
          const serving = edges.find(({ log }, index) => log().slice(since[index]).includes('Session started'))
          serving?.child.kill('SIGKILL')
          engines[0]?.kill('SIGKILL')
        }
        const outcome = await Promise.all(
          bothTransports.map(async (over): Promise<CallOutcome> => {
            const { grpc, websocket } = sessionOptions(service, call.format, 'call')
            const resumption = { firstDelayMs: 20, maxDelayMs: 200 }
            const session =
              over === 'grpc'
                ? dataflow({ ...grpc, finalizeBy: 'request', resumption })
                : recognize({ ...websocket, resumption })
            return { over, ...(await outcomeOf(onceStreaming(session)(call.played(1, 1_900, kill)))) }
          }),
        )
        for (const message of outcome) expectSame(message, reference, call)
        expect(outcome.some(({ events }) => statesOf(events).includes('resumed'))).toBe(true)
      })

      it('end the sessions of a token that a command revokes', async () => {
        const token = await newToken()
        const socket = await openSocket({ ...service, token })
        const revoked = await run(['subscription', 'revoke', '--config', configurations[1] ?? ''], {
          env: { ...passwords, RXSPEECH_TOKEN: token },
        })
        expect(revoked.code).toBe(0)
        expect(await socket.receive()).toMatchObject({ close: 4401 })
      })
    },
  )
})
