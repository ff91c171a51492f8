import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hasPrograms, needPackages, programPath } from './debian-packages.js'

const run = promisify(execFile)

export const h2loadPackage = needPackages(['nghttp2-client'], () => hasPrograms('h2load'))

export interface LoadOptions {
  readonly requests: number
  readonly connections: number
  /** Requests that are open on a connection at the same time; 1 unless given. */
  readonly streams?: number
  /** HTTP/1.1 in place of HTTP/2. */
  readonly http1?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** The file of the body, which makes each request a POST. */
  readonly body?: string
}

export interface LoadOutcome {
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Requests that had none. */
  readonly unanswered: number
}

/** Sends so many requests with Debian's h2load, which takes any certificate, within two minutes. */
export const h2load = async (url: string, options: LoadOptions): Promise<LoadOutcome> => {
  const { requests, connections, streams = 1, http1 = false, headers = {}, body } = options
  const folder = await mkdtemp(join(tmpdir(), 'h2load-'))
  const log = join(folder, 'log')
  const args = [
    ...['-n', String(requests), '-c', String(connections), '-m', String(streams), `--log-file=${log}`],
    // A connection that is refused must not keep it for ever.
    ...['-T', '100s', '-N', '20s'],
    ...(http1 ? ['--h1'] : []),
    ...(body === undefined ? [] : ['-d', body]),
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
  ]
  try {
    await run(programPath('h2load') ?? 'h2load', [...args, url], { timeout: 115_000 })
    return outcomeOf(await readFile(log, 'utf8'), requests)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** A line is: when it was sent, its status or -1, how long it took. */
const outcomeOf = (log: string, requests: number): LoadOutcome => {
  const statuses: Record<string, number> = {}
  for (const line of log.split('\n')) {
    const status = line.split('\t')[1]
    if (status !== undefined && status !== '-1') statuses[status] = (statuses[status] ?? 0) + 1
  }
  const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  return { statuses, unanswered: requests - answered }
}
