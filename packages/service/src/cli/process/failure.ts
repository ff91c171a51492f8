import type { ErrorCode } from 'rxspeech/internal/errors/error-table'
import { nearestName } from 'rxspeech/internal/protocol/nearest-name'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { plainText } from '../view/plain-text.js'

/** The exit codes of the process. */
export const exitCode = {
  done: 0,
  /** The service or the network failed. */
  failed: 1,
  /** The command was used incorrectly. */
  usage: 2,
  /** The input cannot be read. */
  unreadable: 3,
} as const

/** The codes that are not a failure of the service or of the network. */
const exitCodes: Partial<Record<ErrorCode, number>> = {
  'invalid-options': exitCode.usage,
  'invalid-format': exitCode.usage,
  'invalid-wav': exitCode.unreadable,
  'source-failed': exitCode.unreadable,
  'cut-sample': exitCode.unreadable,
  'microphone-denied': exitCode.unreadable,
  'microphone-missing': exitCode.unreadable,
  'microphone-busy': exitCode.unreadable,
  'microphone-lost': exitCode.unreadable,
}

/** The end of a failed command: its exit code, and the sentence for stderr, none for a `SilentExit`. */
export interface Failure {
  readonly exitCode: number
  readonly sentence?: string
}

/** Ends a command without a message, such as after Ctrl-C. */
export class SilentExit extends Error {
  override readonly name = 'SilentExit'
  readonly exitCode: number

  constructor(code: number) {
    super('The command was ended.')
    this.exitCode = code
  }
}

/** A failure while the command ran, such as of the service or the disk: exit code 1 for any cause. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** The error `invalid-options`: exit code 2. */
export const usageError = (sentence: string, cause?: unknown): SpeechError =>
  new SpeechError('invalid-options', sentence, { cause })

/** The command that was called: its name, such as `rxspeech models add`, and what can be typed after it. */
export interface CalledCommand {
  readonly name: string
  /** Its options and subcommands. */
  readonly words: readonly string[]
}

/** The failure for an error, with its sentence as one line that is safe for a terminal. */
export const failureOf = (
  error: unknown,
  command: CalledCommand = { name: 'rxspeech', words: [] },
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): Failure => {
  if (error instanceof SilentExit) return { exitCode: error.exitCode }
  if (error instanceof CommandError) return { exitCode: exitCode.failed, sentence: oneLine(error.message) }
  if (isSpeechError(error))
    return { exitCode: exitCodes[error.code] ?? exitCode.failed, sentence: oneLine(withCause(error)) }
  if (isHelp(error)) return { exitCode: exitCode.usage }
  if (isUsageRefusal(error)) return { exitCode: exitCode.usage, sentence: usageSentence(error.message, command) }
  return {
    exitCode: exitCode.failed,
    sentence: `An unexpected error occurred (${oneLine(messageOf(error))}); ${adviceFor(versions)}`,
  }
}

/** Other runtimes lack parts of Node, such as its worker threads, and their errors do not say so. */
const adviceFor = (versions: Readonly<Record<string, string | undefined>>): string => {
  const other = ['bun', 'deno'].find((name) => versions[name] !== undefined)
  return other === undefined
    ? 'run it again with RXSPEECH_DEBUG=1 to see where.'
    : `the command needs Node, and this is ${other} ${versions[other] ?? ''}: run it with node.`
}

/** The sentence; of custom nodes with the cause, which their code gives. Other causes may contain a secret. */
const withCause = ({ message, cause }: SpeechError): string => {
  if (!message.startsWith('nodes: ') || !(cause instanceof Error)) return message
  const reason = cause.message.replace(/( imported from |\n)[^]*/, '').replace(/\.$/, '')
  return message.replace('; see the cause.', () => `: ${reason}.`)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const maxSentenceLength = 600

/** Options that errors of the library name, and the flags that set them. */
const flagOf: Readonly<Record<string, string>> = {
  authUrl: '--auth-url',
  'timeouts.startMs': '--timeout-ms',
  ca: '--ca',
}

const oneLine = (message: string): string => {
  const line = plainText(message)
    .replace(/\b(timeouts\.)?[a-z]+[A-Z]\w+\b|^ca\b/g, (name) => flagOf[name] ?? name)
    .replace('give the CA certificate of the service.', 'give the CA certificate of the service with --ca FILE.')
  return line.length > maxSentenceLength ? `${line.slice(0, maxSentenceLength)}…` : line
}

/** An error of commander, which reads the command line. */
const isUsageRefusal = (error: unknown): error is Error => codeOf(error)?.startsWith('commander.') === true

/** Commander has printed the help because the command is missing; there is nothing to add. */
const isHelp = (error: unknown): boolean => isUsageRefusal(error) && error.message === '(outputHelp)'

/** One sentence, without the value of an unknown option: it may be a secret in the wrong place. */
const usageSentence = (message: string, { name, words }: CalledCommand): string => {
  const sentence = message
    .replace(/^error: /, '')
    .replace('. Expected', ': expected')
    .replace(/^(unknown option '[^=']*)=.*'$/, "$1'")
    .replace(/\.$/, '')
  const [, unknown = ''] = /^unknown (?:option|command) '(.*)'$/.exec(sentence) ?? []
  const near = nearestName(unknown, words)
  const isFile = /^-[^-].*\.[A-Za-z]\w*$/.test(unknown)
  const remedy = isFile ? `type ./${unknown} if it is a file` : `${name} --help shows the usage`
  const end = near === undefined ? `${remedy}.` : `did you mean ${near}?`
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}; ${end}`
}
