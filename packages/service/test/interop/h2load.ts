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
  /** Concurrent requests on a connection; default 1. */
  readonly streams?: number
  /** HTTP/1.1 instead of HTTP/2. */
  readonly http1?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** The file with the body, which turns each request into a POST. */
  readonly body?: string
}

export interface LoadOutcome {
  /** The number of responses by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** The number of requests without a response. */
  readonly unanswered: number
}

/** Sends requests with Debian's h2load, which accepts any certificate, within two minutes. */
export const h2load = async (url: string, options: LoadOptions): Promise<LoadOutcome> => {
  const { requests, connections, streams = 1, http1 = false, headers = {}, body } = options
  const folder = await mkdtemp(join(tmpdir(), 'h2load-'))
  const log = join(folder, 'log')
  const args = [
    ...['-n', String(requests), '-c', String(connections), '-m', String(streams), `--log-file=${log}`],
    // A refused connection must not block it forever.
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

/** The fields of a line: time sent, status or -1, duration. */
const outcomeOf = (log: string, requests: number): LoadOutcome => {
  const statuses: Record<string, number> = {}
  for (const line of log.split('\n')) {
    const status = line.split('\t')[1]
    if (status !== undefined && status !== '-1') statuses[status] = (statuses[status] ?? 0) + 1
  }
  const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  return { statuses, unanswered: requests - answered }
}
