import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needPackages } from './debian-packages.js'

/** `buf` in the path: 93 MB unpacked, too much for a development dependency that one test file needs. */
export const bufPackage = needPackages(
  ['@bufbuild/buf@1.75.0'],
  () => spawnSync('buf', ['--version']).status === 0,
  'npm install --global',
)

export interface BufOutcome {
  /** The printed JSON documents, or the lines if they are not JSON. */
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: number | null
}

/**
 * Runs `buf curl` with a separate cache folder, so that nothing is read from or left in the user's. A call that does
 * not end is interrupted when its output matches `until`.
 */
export const bufCurl = (
  args: readonly string[],
  { stdin = '', until }: { readonly stdin?: string; readonly until?: RegExp } = {},
): Promise<BufOutcome> => {
  const cache = mkdtempSync(join(tmpdir(), 'rxspeech-buf-'))
  const env = { ...process.env, BUF_CACHE_DIR: cache }
  return new Promise<BufOutcome>((resolve, reject) => {
    const child = spawn('buf', ['curl', ...args], { env, detached: true })
    // The command of the package waits for the program; both must receive a signal.
    const end = (signal: NodeJS.Signals): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal)
    }
    const deadline = setTimeout(end, 50_000, 'SIGKILL')
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (until?.test(stdout) === true) end('SIGINT')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.on('error', reject)
    child.on('close', (exitCode) => {
      clearTimeout(deadline)
      resolve({ stdout, stderr, exitCode })
    })
    child.stdin.on('error', () => undefined).end(stdin)
  }).finally(() => {
    rmSync(cache, { recursive: true, force: true })
  })
}
