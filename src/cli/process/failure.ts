import { codeOf } from '../../errors/code-of.js'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import { exitCode, exitCodeOf } from './exit-code.js'
import { plainText } from '../view/plain-text.js'

/** How a command ends that did not do its work: what the process says, and the sentence for stderr; none when it ends quietly. */
export interface Failure {
  readonly exitCode: number
  readonly sentence?: string
}

/** Ends a command without a word, such as after Ctrl-C. */
export class QuietEnd extends Error {
  override readonly name = 'QuietEnd'
  readonly exitCode: number

  constructor(code: number) {
    super('The command was ended.')
    this.exitCode = code
  }
}

/** What failed while the command ran, whatever its code: never the fault of who typed it. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
}

/** The error `invalid-options`: exit code 2. */
export const usageError = (sentence: string, cause?: unknown): SpeechError =>
  new SpeechError('invalid-options', sentence, cause === undefined ? {} : { cause })

/** The failure that an error means, its sentence in one line that a terminal may show. `command` is what was typed of commands. */
export const failureOf = (error: unknown, command = 'rxspeech'): Failure => {
  if (error instanceof QuietEnd) return { exitCode: error.exitCode }
  if (error instanceof RunFailure) return { exitCode: exitCode.failed, sentence: oneLine(error.message) }
  if (isSpeechError(error)) return { exitCode: exitCodeOf(error.code), sentence: oneLine(error.message) }
  if (isHelp(error)) return { exitCode: exitCode.usage }
  if (isUsageRefusal(error)) return { exitCode: exitCode.usage, sentence: usageSentence(error.message, command) }
  return {
    exitCode: exitCode.failed,
    sentence: `Something failed that should not (${oneLine(messageOf(error))}); run it again with RXSPEECH_DEBUG=1 to see where.`,
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const longestSentence = 600

/** Options of the library, by which its errors name what to change, and the flags that give them. */
const flagOf: Readonly<Record<string, string>> = {
  authUrl: '--auth-url',
  startTimeoutMs: '--timeout-ms',
  rootCertificates: '--ca',
}

const oneLine = (message: string): string => {
  const line = plainText(message).replace(/\b[a-z]+[A-Z]\w+\b/g, (name) => flagOf[name] ?? name)
  return line.length > longestSentence ? `${line.slice(0, longestSentence)}…` : line
}

/** An error of the package that reads the command line. */
const isUsageRefusal = (error: unknown): error is Error => codeOf(error)?.startsWith('commander.') === true

/** The help that is shown where a command is missing says enough. */
const isHelp = (error: unknown): boolean => isUsageRefusal(error) && error.message === '(outputHelp)'

/** In one sentence, and without the value of an option that is not known: it may be a secret in a wrong place. */
const usageSentence = (message: string, command: string): string => {
  const [what = '', suggestion] = message.replace(/^error: /, '').split('\n')
  const sentence = what
    .replace('. Expected', ': expected')
    .replace(/^(unknown option '[^=']*)=.*'$/, "$1'")
    .replace(/\.$/, '')
  const hint = suggestion?.replace(/^\((.*)\?\)$/, (_all, said: string) => said.charAt(0).toLowerCase() + said.slice(1))
  const remedy = hint === undefined || hint === '' ? `${command} --help shows what there is` : `${hint}?`
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}; ${remedy}${remedy.endsWith('?') ? '' : '.'}`
}
