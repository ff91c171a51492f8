import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { stringify } from 'yaml'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import {
  developmentCertificates,
  type DevelopmentCertificates,
} from '../../../server/src/identity/keys/development-certificates.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import { noLoadLimits } from '../plain-service.js'
import { callModels } from './live-service.js'
import type { SpokenService } from './session-options.js'

const secret = 'correct horse battery staple'

interface More {
  readonly limits?: object
  readonly [setting: string]: unknown
}

/** The addresses of one process of `rxspeech serve`. */
interface Addresses {
  readonly http: string
  readonly grpc: string
  readonly operations: string
}

/** A service in a separate process. */
export interface ServedProcess extends Addresses {
  readonly isRunning: () => boolean
  /** The lines of its log. */
  readonly logged: () => string
  readonly start: () => Promise<void>
  /** Drains and stops it. */
  readonly stop: () => Promise<void>
}

/** Two processes that share a state folder, as docs/OPERATING.md recommends with a balancer. */
export interface ServedPair {
  readonly folder: string
  readonly certificates: DevelopmentCertificates
  readonly one: ServedProcess
  readonly two: ServedProcess
  /** The addresses in their logs of clients that were rejected. */
  readonly rejectedPeers: () => readonly string[]
  /** An access for a client that trusts `ca`. */
  readonly behind: (addresses: { readonly http: string; readonly grpc: string }, ca: string) => Promise<SpokenService>
  readonly close: () => Promise<void>
}

/** Starts one on free ports. */
const servedProcess = async (folder: string, name: string, { limits, ...more }: More): Promise<ServedProcess> => {
  const [http, grpc, operations] = [await freePort(), await freePort(), await freePort()].map(
    (port) => `127.0.0.1:${port}`,
  ) as [string, string, string]
  const file = join(folder, `${name}.yaml`)
  await writeFile(
    file,
    stringify({ http, grpc, operations, ...configurationOf(folder), limits: { ...noLoadLimits, ...limits }, ...more }),
  )
  let running: { readonly child: ChildProcess; readonly ended: Promise<unknown> } | undefined
  let logged = ''
  return {
    http,
    grpc,
    operations,
    logged: () => logged,
    isRunning: () => running !== undefined,
    start: async () => {
      const child = spawn(
        process.execPath,
        ['packages/service/dist/cli/main.js', 'serve', '--config', file, '--log-level', 'warn'],
        {
          env: { PATH: process.env['PATH'], ACME_SECRET: secret },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      )
      child.stderr.on('data', (bytes: Buffer) => (logged += bytes.toString()))
      running = { child, ended: once(child, 'close') }
      await firstLine(child)
    },
    stop: async () => {
      running?.child.kill('SIGTERM')
      await running?.ended
      running = undefined
    },
  }
}

/** It prints a line when it listens. */
const firstLine = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.stdout?.on('data', (bytes: Buffer) => {
      if (bytes.includes('\n')) resolve()
    })
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`The service ended with ${String(code)} before it listened.`)))
  })

const configurationOf = (folder: string): object => ({
  tls: { certificateFile: join(folder, 'service.pem'), keyFile: join(folder, 'service.key') },
  stateFolder: join(folder, 'state'),
  models: { folders: [join(process.cwd(), callModels)], defaultModel: 'call' },
  tenants: ['Default'],
  identity: { issuer: 'https://speech.example.com' },
  subscriptions: [{ clientId: 'acme', secret: { env: 'ACME_SECRET' }, tenants: ['Default'] }],
})

/** `more` is added to the configuration of both. */
export const servedPair = async (more: More = {}): Promise<ServedPair> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-'))
  const certificates = await developmentCertificates(join(folder, 'certificates'))
  await writeFile(join(folder, 'service.pem'), certificates.certificate)
  await writeFile(join(folder, 'service.key'), certificates.key, { mode: 0o600 })
  const first = await servedProcess(folder, 'one', more)
  const two = await servedProcess(folder, 'two', more)
  return {
    folder,
    certificates,
    one: first,
    two,
    rejectedPeers: () =>
      `${first.logged()}${two.logged()}`
        .split('\n')
        .filter((line) => line.includes('"Client rejected"'))
        .map((line) => (JSON.parse(line) as { readonly peer: string }).peer),
    behind: async ({ http, grpc }, ca) => {
      const fetch = nodeFetch({ ca })
      const authUrl = `https://${http}`
      const { accessToken } = await firstValueFrom(
        requestToken({ authUrl, clientId: 'acme', clientSecret: secret, fetch }),
      )
      const access = { wsUrl: `wss://${http}`, grpc, tenant: 'Default', project: 'transcribe' }
      return { service: { access }, ca: Buffer.from(ca), token: accessToken }
    },
    close: async () => {
      await Promise.all([first.stop(), two.stop()])
      await rm(folder, { recursive: true })
    },
  }
}
