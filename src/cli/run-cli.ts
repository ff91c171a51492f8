import { codeOf } from '../errors/code-of.js'
import { SpeechError } from '../errors/speech-error.js'
import { exitCode } from './process/exit-code.js'
import { failureOf } from './process/failure.js'
import type { Host } from './process/host.js'
import { openOutput } from './process/output.js'

/**
 * Runs the command that the arguments name, and gives the exit code when its work is done and its output written. Every
 * failure is one sentence on stderr. `args`: without the program's own name.
 */
export const runCli = async (args: readonly string[], host: Host): Promise<number> => {
  const output = openOutput(host)
  // Nobody reads the errors any more: no reason for another one.
  host.stderr.on('error', () => undefined)
  let command: string | undefined
  try {
    const { commandPath, createProgram } = await import('./program.js').catch(asMissing)
    const program = createProgram(host, output)
    command = commandPath(program, args)
    await program.parseAsync(args, { from: 'user' })
    await output.flushed()
    return exitCode.done
  } catch (error) {
    return await report(error, command, host, output.flushed)
  }
}

const asMissing = (error: unknown): never => {
  const isMissing = codeOf(error)?.endsWith('MODULE_NOT_FOUND') === true
  if (!isMissing) throw error
  throw new SpeechError(
    'missing-dependency',
    'A package that the command line needs is not installed; npm install commander.',
    { cause: error },
  )
}

const report = async (
  error: unknown,
  command: string | undefined,
  { stderr, env }: Host,
  flushed: () => Promise<void>,
): Promise<number> => {
  await flushed()
  // Help and version, asked for, end the command as an error would.
  if (isAnswered(error)) return exitCode.done
  const { exitCode: code, sentence } = failureOf(error, command)
  if (sentence !== undefined) stderr.write(`rxspeech: ${sentence}\n`)
  if (env['RXSPEECH_DEBUG'] !== undefined && error instanceof Error) stderr.write(`${error.stack ?? error.message}\n`)
  return code
}

const isAnswered = (error: unknown): boolean =>
  error instanceof Error && 'exitCode' in error && error.exitCode === 0 && 'code' in error
