import { fork, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { killProcess } from 'rxspeech-engines/threads/child-process'
import { findWorkerFile } from 'rxspeech-engines/threads/package-files'
import type { WorkerCount } from 'rxspeech-engines/threads/worker-count'
import { sanitizePeerText } from 'rxspeech/internal/errors/refusal'
import { CommandError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { packageModels } from '../process/package-files.js'
import { processUse } from '../process/process-use.js'
import type { Access, ModelChoice } from '../service/access.js'
import { readMetrics, type EngineMetrics } from './read-metrics.js'

/** The service whose calls are counted. */
export interface MeasuredService {
  readonly access: Access
  /** Undefined for a service that runs elsewhere. */
  readonly inspect?: (() => Promise<ServiceSample>) | undefined
  readonly close: () => Promise<void>
}

/** What a service of this machine has used so far, and its state now. */
export interface ServiceSample extends EngineMetrics {
  readonly cpuMs: number | undefined
  readonly memoryBytes: number | undefined
}

export interface OwnServiceOptions {
  readonly modelFolders: readonly string[]
  readonly model: ModelChoice
  readonly tenant: string
  readonly project: string
  readonly workers: WorkerCount
}

const clientId = 'bench'
const many = 1_000_000

/**
 * The limits of a production service, without those that count, and without the one that refuses sessions because of
 * late results: the measurement itself looks for both.
 */
const limits = {
  sessions: many,
  sessionsPerTenant: many,
  sessionsPerToken: many,
  connections: many,
  connectionsPerAddress: many,
  unstarted: many,
  unstartedPerAddress: many,
  maxRequestsPerSecond: many,
  requestBurst: many,
  maxEngineDelayMs: 0,
  drainMs: 0,
}

const startWithinMs = 60_000
const closeWithinMs = 5_000

/**
 * Starts the command `serve` in a process of its own, without TLS, on free ports of this machine, with its state in a
 * temporary folder. Rejects with a `CommandError` that has what it wrote if it does not start.
 */
export const startMeasuredService = async (
  { modelFolders, model, tenant, project, workers }: OwnServiceOptions,
  host: Pick<Host, 'onExit' | 'env'>,
): Promise<MeasuredService> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-bench-'))
  const offExit = host.onExit(() => rmSync(folder, { recursive: true, force: true }))
  let child: ChildProcess | undefined
  const close = async (): Promise<void> => {
    if (child !== undefined) await endProcess(child)
    await rm(folder, { recursive: true, force: true })
    offExit()
  }
  try {
    const file = join(folder, 'service.yaml')
    const clientSecret = randomBytes(24).toString('base64url')
    // JSON is YAML.
    await writeFile(
      file,
      JSON.stringify({
        operations: '127.0.0.1:0',
        stateFolder: join(folder, 'state'),
        workers,
        tenants: [tenant],
        models: {
          folders: [...modelFolders.map((path) => resolve(path)), ...packageModels()],
          defaultModel: model.name,
        },
        subscriptions: [{ clientId, secret: { env: secretVariable } }],
        limits,
        log: { level: 'error', format: 'text' },
      }),
    )
    const env = { ...host.env, [secretVariable]: clientSecret }
    child = startServe(file, env)
    const { authUrl, wsUrl, grpc, operations } = await readyLine(child)
    const { pid } = child
    return {
      access: {
        url: wsUrl,
        grpc,
        isPlaintext: true,
        proxy: false,
        credentials: { type: 'client', authUrl, clientId, clientSecret },
        tenant,
        project,
        model,
      },
      inspect: async () => {
        const metrics = await readMetrics(`${operations}/metrics`)
        const use = pid === undefined ? undefined : processUse(pid)
        return { ...metrics, cpuMs: use?.cpuMs, memoryBytes: use?.memoryBytes }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const secretVariable = 'RXSPEECH_BENCH_SECRET'

const startServe = (file: string, env: Host['env']): ChildProcess =>
  fork(findWorkerFile(__dirname, 'cli/sizing/service-main.js', 'The measured service'), ['serve', '--config', file], {
    env,
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })

type ReadyLine = Readonly<Record<'authUrl' | 'wsUrl' | 'grpc' | 'operations', string>>

/** The line that `serve` prints when it is ready. */
const readyLine = (child: ChildProcess): Promise<ReadyLine> =>
  new Promise((resolve, reject) => {
    let report = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (report = (report + text).slice(-2_000)))
    const fail = (how: string): void => {
      clearTimeout(timer)
      reject(new CommandError(`The service that is measured ${how}. ${sanitizePeerText(report)}`.trimEnd()))
    }
    const timer = setTimeout(() => fail(`was not ready within ${startWithinMs / 1000} s`), startWithinMs)
    child.once('error', ({ message }) => fail(`could not be started: ${message}`))
    child.once('exit', (code, signal) => fail(`ended (${signal ?? code})`))
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).once('line', (line) => {
      clearTimeout(timer)
      resolve(JSON.parse(line) as ReadyLine)
    })
  })

const endProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  const timer = setTimeout(() => void killProcess(child), closeWithinMs)
  await ended
  clearTimeout(timer)
}
