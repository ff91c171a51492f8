import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasPrograms, needPackages, programPath } from '../../../service/test/interop/debian-packages.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'

const { areAbsent, title } = needPackages(['nats-server'], () => hasPrograms('nats-server'))

export const natsIsSkipped = areAbsent
export const natsTitle = title

/** A NATS server of its own for one test. */
export interface NatsServer {
  /** Such as `nats://127.0.0.1:4222`. */
  readonly url: string
  readonly port: number
  /** What it wrote to its log so far. */
  readonly log: () => string
  /** Ends the process at once, without a word to its clients. */
  readonly kill: () => Promise<void>
  /** Starts it again on the same port. */
  readonly restart: () => Promise<void>
  readonly suspend: () => void
  readonly resume: () => void
  readonly close: () => Promise<void>
}

export interface NatsServerOptions {
  /** A configuration file, used instead of the options of the command line except for the address. */
  readonly configFile?: string | undefined
  /** The content of one. */
  readonly config?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
}

/** Starts a server that listens on loopback. */
export const startNatsServer = async ({ configFile, config, env }: NatsServerOptions = {}): Promise<NatsServer> => {
  const program = programPath('nats-server') ?? 'nats-server'
  const folder = mkdtempSync(join(tmpdir(), 'nats-'))
  // The server reports a port that it chose itself only in a file, and not in every version.
  const port = await freePort()
  const file = configFile ?? join(folder, 'nats.conf')
  if (configFile === undefined) writeFileSync(file, config ?? '')
  let log = ''
  let child: ChildProcess
  const start = async (): Promise<void> => {
    child = spawn(program, ['-c', file, '-a', '127.0.0.1', '-p', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    })
    const before = log.length
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on('data', (chunk: Buffer) => {
        log += chunk.toString()
        if (log.slice(before).includes('Server is ready')) resolve()
      })
      child.once('error', reject)
      child.once('exit', () => reject(new Error(`nats-server ended:\n${log}`)))
    })
  }
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await start()
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    log: () => log,
    kill,
    restart: start,
    suspend: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    close: async () => {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
