import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const checkout = join(__dirname, '../..')

export interface ProgramRun {
  /** Null when it had to be killed. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** From its last output on stdout to its end, in milliseconds. */
  readonly lingeredMs: number
}

/** A program that has printed everything exits soon; a timer of a session would keep it alive for 30 s. */
export const maxLingerMs = 15_000

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Runs a program to its end, or kills it and its children when it takes too long. */
export const runProgram = (
  command: string,
  args: readonly string[],
  { cwd = checkout, env = {}, timeoutMs = 110_000 }: RunOptions = {},
): Promise<ProgramRun> =>
  new Promise((resolve, reject) => {
    // A separate process group, so that children of a shell are killed with it.
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const timer = setTimeout(() => {
      killGroup(child.pid)
    }, timeoutMs)
    let stdout = ''
    let lastWordsMs = Date.now()
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      lastWordsMs = Date.now()
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.once('error', reject)
    child.once('close', (exitCode) => {
      clearTimeout(timer)
      resolve({ exitCode, stdout, stderr, lingeredMs: Date.now() - lastWordsMs })
    })
  })

/** Also when its leader has exited already and left children. */
const killGroup = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes have exited.
  }
}

export interface RunningProgram {
  /** Terminates it, and resolves with its exit code; null when it had to be killed. */
  readonly stop: () => Promise<number | null>
}

const patienceMs = 60_000

/** Starts a program that runs until it is terminated. */
export const startProgram = (
  command: string,
  args: readonly string[],
  { cwd = checkout, env = {} }: RunOptions = {},
): RunningProgram => {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'ignore' })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return {
    stop: async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      const exitCode = await ended
      clearTimeout(timer)
      return exitCode
    },
  }
}

const tsNode = join(checkout, 'node_modules/ts-node/dist/bin.js')

/** Runs a TypeScript file as `npx ts-node FILE` does. It imports the built package, which must exist. */
export const runTypeScript = (file: string, options: RunOptions = {}): Promise<ProgramRun> => {
  if (!existsSync(join(checkout, 'dist/cjs/index.js'))) throw new Error('Run `npm run build` before these tests.')
  return runProgram(process.execPath, [tsNode, file], options)
}
