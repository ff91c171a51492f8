import type { Command } from 'commander'
import type { CommandContext } from './parsing/command.js'
import { exitCode, failureOf, usageError, type CalledCommand } from './process/failure.js'
import type { Host } from './process/host.js'
import { openOutput } from './process/output.js'

/** Creates the program that parses the arguments. */
type CreateProgram = (args: readonly string[], context: CommandContext) => Promise<Command>

const createRxspeech: CreateProgram = async (args, context) => {
  const { createProgram } = await import('./program.js')
  return createProgram(args, context)
}

/**
 * Runs the command of the arguments, and resolves with the exit code when it is done and its output written. Every
 * failure is one sentence on stderr. `args`: without the program's own name.
 */
export const runCli = async (args: readonly string[], host: Host, create = createRxspeech): Promise<number> => {
  const output = openOutput(host)
  // A closed stderr does not cause another error.
  host.stderr.on('error', () => undefined)
  let command: CalledCommand | undefined
  try {
    requireWorkingFolder()
    const program = await create(args, { host, output })
    const { calledCommand, withHelpOption } = await import('./program.js')
    command = calledCommand(program, args)
    await program.parseAsync(withHelpOption(program, args), { from: 'user' })
    await output.flushed()
    output.closed.throwIfAborted()
    return exitCode.done
  } catch (error) {
    return await report(error, command, host, output.flushed)
  }
}

/** Node and packages fail with errors of their own in a folder that was deleted. */
const requireWorkingFolder = (): void => {
  try {
    process.cwd()
  } catch (error) {
    throw usageError('The working directory does not exist any more; change to another one with cd.', error)
  }
}

const report = async (
  error: unknown,
  command: CalledCommand | undefined,
  { stderr, env }: Host,
  flushed: () => Promise<void>,
): Promise<number> => {
  await flushed()
  if (isHelpOrVersion(error)) return exitCode.done
  const { exitCode: code, sentence } = failureOf(error, command)
  if (sentence !== undefined) stderr.write(`rxspeech: ${sentence}\n`)
  if (env['RXSPEECH_DEBUG'] !== undefined && error instanceof Error) stderr.write(`${error.stack ?? error.message}\n`)
  return code
}

/** Commander ends requested help and version with an error with exit code 0. */
const isHelpOrVersion = (error: unknown): boolean =>
  error instanceof Error && 'exitCode' in error && error.exitCode === 0 && 'code' in error
