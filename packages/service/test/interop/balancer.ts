import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { hasPrograms, needPackages, programPath } from './debian-packages.js'

export const nginxPackage = needPackages(['nginx'], () => hasPrograms('nginx'))
export const haproxyPackage = needPackages(['haproxy'], () => hasPrograms('haproxy'))

/** A balancer that runs in the foreground. */
export interface Balancer {
  /** Reloads its configuration; sessions stay with the process that has them. */
  readonly reload: () => void
  readonly close: () => Promise<void>
}

/** Replacements in a configuration of docs/deploy for a test. */
export type Changes = readonly (readonly [from: string | RegExp, to: string])[]

/** Writes the configuration with the addresses and deadlines of a test; each replacement must match. */
export const adaptConfiguration = async (name: string, changes: Changes, folder: string): Promise<string> => {
  let text = await readFile(join('docs/deploy', name), 'utf8')
  for (const [from, to] of changes) {
    if (text.search(from) === -1) throw new Error(`docs/deploy/${name} does not hold ${String(from)}.`)
    text = text.replaceAll(from, to)
  }
  const file = join(folder, name)
  await writeFile(file, text)
  return file
}

/** What the shipped files of nginx need on this machine: paths in a folder, a port, and to end soon. */
export const nginxChanges = (folder: string, port: number): Changes => [
  ['worker_processes auto', 'worker_processes 1'],
  ['worker_rlimit_nofile 65536;', ''],
  ['worker_connections 16384', 'worker_connections 256'],
  ['worker_shutdown_timeout 5m', 'worker_shutdown_timeout 200ms'],
  ['/run/nginx.pid', join(folder, 'nginx.pid')],
  ['/var/log/nginx/error.log', 'stderr crit'],
  ['0.0.0.0:443', `127.0.0.1:${port}`],
  ['/etc/nginx/speech', folder],
]

/** What those of HAProxy need: the ports of the two interfaces, and to end and to notice losses soon. */
export const haproxyChanges = ([http, grpc]: readonly [http: number, grpc: number]): Changes => [
  ['hard-stop-after 5m', 'hard-stop-after 200ms'],
  ['inter 2s', 'inter 100ms'],
  // Without it, a service that answers later than the interval counts as down, as on a busy machine.
  [/timeout connect \ds/g, '$&\n  timeout check 10s'],
  ['0.0.0.0:443', `127.0.0.1:${http}`],
  ['0.0.0.0:444', `127.0.0.1:${grpc}`],
]

/** Whether something listens on a port of this machine. */
export const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

const run = async (
  program: string,
  args: readonly string[],
  ports: readonly number[],
  signals: { readonly reload: NodeJS.Signals; readonly end: NodeJS.Signals },
): Promise<Balancer> => {
  const child = spawn(programPath(program) ?? program, args, { stdio: ['ignore', 'inherit', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (bytes: Buffer) => (stderr = `${stderr}${bytes.toString()}`.slice(-4_000)))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const close = async (): Promise<void> => {
    child.kill(signals.end)
    await ended
  }
  const listens = async (): Promise<void> => {
    expect((await Promise.all(ports.map(accepts))).every(Boolean)).toBe(true)
  }
  await vi.waitFor(listens, { timeout: 60_000 }).catch(async () => {
    await close()
    throw new Error(`${program} does not listen: ${stderr}`)
  })
  return {
    reload: () => child.kill(signals.reload),
    close,
  }
}

export const startNginx = (file: string, folder: string, port: number): Promise<Balancer> =>
  run('nginx', ['-p', folder, '-e', 'stderr', '-c', file, '-g', 'daemon off;'], [port], {
    reload: 'SIGHUP',
    end: 'SIGTERM',
  })

export const startHaproxy = (file: string, ports: readonly number[]): Promise<Balancer> =>
  run('haproxy', ['-W', '-f', file], ports, { reload: 'SIGUSR2', end: 'SIGTERM' })
