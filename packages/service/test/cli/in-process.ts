import { createRequire } from 'node:module'
import { PassThrough } from 'node:stream'
import type { EndingSignal, Host } from '../../src/cli/process/host.js'
import type * as built from '../../src/cli/run-cli.js'
import type { Ended, RunOptions } from './command.js'

// The built command: what users run, and loaded in a fraction of the time that its sources take to compile.
export const { runCli } = createRequire(__filename)('../../dist/cli/run-cli.js') as typeof built

/** A command that runs in the process of the test, with its own streams. */
export interface RunningCommand {
  readonly stdin: PassThrough
  readonly stdout: PassThrough
  readonly stderr: PassThrough
  /** Sends a signal to this command alone. */
  readonly kill: (signal: EndingSignal) => void
  readonly end: Promise<Ended>
}

/** Only a process can end before its work is done. */
const refuseExit = (code: number): never => {
  throw new Error(`The command asks to end its process with ${code}; test that with a real process.`)
}

export interface InProcessOptions extends RunOptions {
  /** The width of a terminal that stdout is. @default no terminal */
  readonly columns?: number
  /** @default one that is in support */
  readonly nodeVersion?: string
}

type RunArgs = (args: readonly string[], host: Host) => Promise<number>

/**
 * Starts the command in this process; it sees no environment variables but `env`. `runArgs`: another program instead.
 */
export const startInProcess = (
  args: readonly string[],
  { env = {}, columns, nodeVersion = '24.21.0' }: InProcessOptions = {},
  runArgs: RunArgs = runCli,
): RunningCommand => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  if (columns !== undefined) Object.assign(stdout, { isTTY: true, columns })
  const text = { stdout: '', stderr: '' }
  stdout.setEncoding('utf8').on('data', (more: string) => (text.stdout += more))
  stderr.setEncoding('utf8').on('data', (more: string) => (text.stderr += more))
  const listeners = new Set<(signal: EndingSignal) => void>()
  const host: Host = {
    nodeVersion,
    env,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    onSignal: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    raise: (signal) => kill(signal),
    suspend: () => undefined,
    onExit: () => () => undefined,
    exit: refuseExit,
  }
  const read = (stream: PassThrough): Promise<void> =>
    new Promise((resolve) => {
      stream.once('end', resolve).end()
    })
  const run = async (): Promise<Ended> => {
    const code = await runArgs(args, host)
    await Promise.all([read(stdout), read(stderr)])
    return { code, ...text }
  }
  const kill = (signal: EndingSignal): void => {
    for (const listener of [...listeners]) listener(signal)
  }
  return { stdin, stdout, stderr, kill, end: run() }
}

/** Runs the command in this process to its end. */
export const runInProcess = (
  args: readonly string[],
  options: InProcessOptions = {},
  runArgs: RunArgs = runCli,
): Promise<Ended> => {
  const { stdin, end } = startInProcess(args, options, runArgs)
  stdin.end(options.stdin)
  return end
}
