import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const checkout = join(__dirname, '../..')

export interface ProgramRun {
  /** Null when it had to be killed. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** From its last words on stdout to its end, in milliseconds. */
  readonly lingeredMs: number
}

/** A program that has said all it has to say ends soon; a timer of a session would hold it for 30 s. */
export const longestLingerMs = 15_000

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

const environment = ({ env = {} }: RunOptions): NodeJS.ProcessEnv => ({ ...process.env, ...env })

/** Programs that run at a time; the tests of a page start them together. */
const maxPrograms = 2
let running = 0
const waiting: (() => void)[] = []

const takeTurn = async (): Promise<void> => {
  if (running === maxPrograms) await new Promise<void>((resolve) => waiting.push(resolve))
  else running += 1
}

const giveTurn = (): void => {
  const next = waiting.shift()
  if (next === undefined) running -= 1
  else next()
}

/** Runs a program to its end, or kills it and its children when it takes too long. */
export const runProgram = async (
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<ProgramRun> => {
  await takeTurn()
  try {
    return await runNow(command, args, options)
  } finally {
    giveTurn()
  }
}

const runNow = (command: string, args: readonly string[], options: RunOptions): Promise<ProgramRun> =>
  new Promise((resolve, reject) => {
    const { cwd = checkout, timeoutMs = 60_000 } = options
    // A group of its own, so that what a shell started goes with it.
    const child = spawn(command, args, {
      cwd,
      env: { NO_COLOR: '1', ...environment(options) },
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

/** Also when its leader has ended already and left children behind. */
const killGroup = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

export interface RunningProgram {
  /** Asks it to end, and resolves with its exit code; null when it had to be killed. */
  readonly stop: () => Promise<number | null>
}

const patienceMs = 15_000

/** Starts a program that runs until it is told to end. */
export const startProgram = (command: string, args: readonly string[], options: RunOptions = {}): RunningProgram => {
  const { cwd = checkout } = options
  const child = spawn(command, args, { cwd, env: environment(options), stdio: 'ignore' })
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

/** Runs a TypeScript file as `npx ts-node FILE` does. It imports the built package, so that has to be there. */
export const runTypeScript = (file: string, options: RunOptions = {}): Promise<ProgramRun> => {
  needBuild()
  return runProgram(process.execPath, [tsNode, file], options)
}

/** Type-checks and compiles the project of a folder, as `npx tsc` does there. */
export const compileProject = (folder: string): Promise<ProgramRun> => {
  needBuild()
  return runProgram(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '-p', folder])
}

const needBuild = (): void => {
  if (!existsSync(join(checkout, 'dist/cjs/index.js'))) throw new Error('Run `npm run build` before these tests.')
}
