import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { callModels, ended, firstLine, main, run, type Ended } from './command.js'
import { runInProcess } from './in-process.js'
import { longIt } from '../../../../test/thorough.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'
import { isRunning } from '../../../../test/is-running.js'

const folder = temporaryFolder()

interface Served {
  readonly child: ChildProcessWithoutNullStreams
  readonly end: Promise<Ended>
  /** The processes of the workers. */
  readonly pids: readonly number[]
}

const flags = () => ['serve', '--dev', '--models', callModels, '--model', 'call', '--state', join(folder, 'state')]

/** Two workers, in a process group of their own, as in a terminal. */
const serve = async (): Promise<Served> => {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [main, ...flags(), '--workers', '2'], { env: { PATH }, detached: true })
  const end = ended(child)
  let log = ''
  child.stderr.on('data', (text: string) => (log += text))
  await firstLine(child)
  const lines = (): readonly Readonly<Record<string, unknown>>[] =>
    log
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
  const started = () => lines().filter(({ msg }) => msg === 'Worker started')
  await expect.poll(() => started().length).toBe(2)
  expect(
    started()
      .map(({ worker }) => worker)
      .sort(),
  ).toEqual([1, 2])
  return { child, end, pids: started().map(({ pid }) => Number(pid)) }
}

describe('rxspeech serve --workers', () => {
  it('prints its line once, and ends all processes after a signal to all of them, as a terminal sends it', async () => {
    const { child, end, pids } = await serve()
    process.kill(-(child.pid ?? 0), 'SIGINT')
    const { code, stdout, stderr } = await end
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain('The service has stopped.')
    expect(stderr).not.toContain('Worker ended')
    expect(pids.filter(isRunning)).toEqual([])
  })

  longIt('leaves no worker when its own process is killed', async () => {
    const { child, end, pids } = await serve()
    expect(pids.filter(isRunning)).toHaveLength(2)
    child.kill('SIGKILL')
    await end
    await expect.poll(() => pids.filter(isRunning)).toEqual([])
  })

  longIt('ends with one sentence when its workers end at once', async () => {
    const crash = join(folder, 'crash.cjs')
    await writeFile(crash, 'if (process.send) process.exit(3)')
    const { code, stderr, stdout } = await run([...flags(), '--workers', '2'], {
      env: { NODE_OPTIONS: `--require ${crash}` },
    })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toBe('rxspeech: A worker process ended before it was ready (code 3); its error is on stderr.\n')
  })

  it('ends with the error of a service of one process when its port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { code, stderr } = await run([...flags(), '--workers', '2', '--grpc', `127.0.0.1:${port}`])
    other.close()
    expect([code, stderr]).toEqual([1, `rxspeech: Cannot listen on 127.0.0.1:${port}: the port is in use.\n`])
  })

  it.each(['0', '-1', 'x', '257'])('refuses %s workers', async (count) => {
    const { code, stderr } = await runInProcess([...flags(), `--workers=${count}`])
    expect([code, stderr]).toEqual([
      2,
      `rxspeech: --workers must be a whole number from 1 to 256, or auto, not "${count}".\n`,
    ])
  })
})
