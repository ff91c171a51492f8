import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { parseJson } from 'rxspeech/internal/protocol/parse-json'
import { prepareScript, type RecognitionScript } from 'rxspeech/internal/testing/scripted/recognition-script'
import { faultSteps, standInFaults, type StandInFaults } from '../../testing/stand-in/faults.js'
import type { StandIn, StandInOptions } from '../../testing/stand-in/stand-in.js'
import { vendors, type StandInDialect } from '../../testing/stand-in/vendors.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagOr, repeatedFlag, type ParseValue } from '../parsing/flags.js'
import { helpColumns, sectionsText } from '../parsing/help-text.js'
import { quoted, speed, text, wholeNumber } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { watchEnd } from '../process/interruption.js'
import { readFileText } from '../service/configuration-file.js'
import { paintFor } from '../view/paint.js'
import { standInSummary } from '../view/stand-in-summary.js'

const dialectNames = Object.keys(vendors) as readonly StandInDialect[]

const dialects: ParseValue<readonly StandInDialect[]> = (typed, name) =>
  typed.split(',').map((part) => {
    const known = dialectNames.find((each) => each === part.trim())
    if (known !== undefined) return known
    throw usageError(`${name} must be one or several of ${dialectNames.join(', ')}, not ${quoted(typed)}.`)
  })

const port = wholeNumber({ min: 0, max: 65_535 })

const standInFlags = {
  dialect: flagOr(
    '<names>',
    `whose clients it serves: ${dialectNames.join(', ')}, with commas`,
    dialects,
    'deepgram,openai',
  ),
  text: flag('<words>', 'what every session hears (default: hello world)', text),
  script: flag('<file>', 'what sessions hear, with times and in turn, as JSON', text),
  models: repeatedFlag('<dir>', 'recognize with these models instead of a script; may be repeated', text),
  faults: repeatedFlag('<name>', 'a fault of the list below, or a file of steps as JSON; may be repeated', text),
  key: flag('<key>', 'the only key that is accepted (default: every key)', text),
  host: flagOr('<host>', 'the address to listen on; 0.0.0.0 in a container', text, '127.0.0.1'),
  port: flag('<n>', 'the port (default: a free one)', port),
  tls: flag('<dir>', 'listen with TLS, with a certificate for localhost that is kept in this folder', text),
  record: flag('<dir>', 'record the sockets of clients as cassettes in this folder', text),
  speed: flag('<times>', 'results wait for a clock, times real time (default: max, as fast as audio arrives)', speed),
}

type StandInCall = CommandCall<typeof standInFlags, undefined>

/** `rxspeech stand-in`. */
export const addStandIn = (command: Command, context: CommandContext): void => {
  defineCommand(command, context, {
    description:
      'A local stand-in of a speech service for tests of its clients: it answers the unmodified client with the words of a script, and fails as you tell it. ' +
      'Needs no account, no model and no network. When it is ready, it prints its address and the variables for clients on stdout: as one line of JSON, or as a summary in a terminal. ' +
      'GET /stand-in/sessions reports which audio has arrived. SIGTERM ends it.',
    flags: standInFlags,
    examples: [
      ["rxspeech stand-in --text 'seven of clubs'", 'clients of Deepgram and OpenAI hear these words'],
      ['rxspeech stand-in --dialect deepgram --script words.json --faults drop', 'the connection is lost after 2 s'],
    ],
    run: runStandIn,
  })
  const { stdout, env } = context.host
  command.addHelpText('after', () =>
    sectionsText(
      { Faults: Object.entries(standInFaults).map(([name, { summary }]) => [name, summary]) },
      { paint: paintFor(stdout, env), columns: helpColumns(stdout) },
    ),
  )
}

const runStandIn = async ({ flags, host, output }: StandInCall): Promise<void> => {
  const options = optionsOf(flags)
  const { ended, release } = watchEnd(host)
  try {
    const { standIn } = await import('../../testing/stand-in/stand-in.js')
    const running = await standIn(options)
    output.write(
      host.stdout.isTTY
        ? standInSummary(running, flags.dialect, paintFor(host.stdout, host.env))
        : `${JSON.stringify(readyLine(running, flags.dialect))}\n`,
    )
    await ended
    await running.close()
  } finally {
    release()
  }
}

const readyLine = ({ url, wsUrl, key, env, ca }: StandIn, dialect: readonly StandInDialect[]) => ({
  url,
  wsUrl,
  key,
  dialect,
  env,
  ...(ca !== undefined && { ca: ca.path }),
})

const optionsOf = (flags: StandInCall['flags']): StandInOptions => {
  const { dialect, text: words, script, models, key, host, port: wanted, tls, record, speed: times } = flags
  const sources = [words, script, models[0]].filter((source) => source !== undefined)
  if (sources.length > 1) throw usageError('Set one of --text, --script and --models.')
  return {
    dialect,
    script: words ?? (script === undefined ? undefined : scriptOf(script)),
    models: models.length === 0 ? undefined : models,
    faults: flags.faults.length === 0 ? undefined : (flags.faults.flatMap(faultsOf) as StandInFaults),
    key,
    host,
    port: wanted,
    tls,
    record,
    speed: times,
  }
}

const scriptOf = (file: string): RecognitionScript => {
  const script = jsonOf('--script', file) as RecognitionScript
  inFile(file, () => prepareScript(script))
  return script
}

/** Names the file in the sentence that says what is wrong in it. */
const inFile = (file: string, check: () => void): void => {
  try {
    check()
  } catch (error) {
    if (!isSpeechError(error)) throw error
    throw usageError(`${file}: ${error.message}`, error)
  }
}

const faultsOf = (typed: string): unknown => {
  if (Object.hasOwn(standInFaults, typed)) return typed
  // What looks like a file gets the reason why it cannot be read.
  if (existsSync(typed) || /[./\\]/.test(typed)) {
    const steps = jsonOf('--faults', typed)
    inFile(typed, () => faultSteps(steps as StandInFaults))
    return steps
  }
  throw usageError(`--faults must be one of ${Object.keys(standInFaults).join(', ')}, or a file, not ${quoted(typed)}.`)
}

const jsonOf = (name: string, file: string): unknown => {
  const value = parseJson(readFileText(name, file))
  if (value === undefined) throw usageError(`${name} names ${file}, which is not JSON.`)
  return value
}
