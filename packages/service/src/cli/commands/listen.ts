import type { Command } from 'commander'
import { phraseFlags } from '../input/phrase-flags.js'
import { defineCommand, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, repeatedFlag, switchFlag, withoutHelp, type FlagValues } from '../parsing/flags.js'
import { languageFlags, modelFlags, serviceFlags } from '../parsing/service-flags.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { ListenPlan } from '../listen/run-listen.js'
import { planTranscribe, transcribeFlags } from './transcribe.js'

/** Two values for each time. */
const onFlag = repeatedFlag(
  '<sentence> <program...>',
  'run a program when this is said; {name} is one or more words or a slot of the grammar, {name=value} a slot with ' +
    'this value',
  text,
)

const { format, words, record, over } = transcribeFlags
const { phrase, phrases } = phraseFlags
const { model, models, modelTenant } = modelFlags
const { access, url, grpc, ...connection } = serviceFlags

export const listenFlags = {
  ...flagGroup('Microphone:', {
    recorder: flag(
      '<program>',
      'arecord, ffmpeg, sox or rec, or a command that writes 16-bit PCM of 16000 Hz, mono',
      text,
    ),
    device: flag('<name>', 'the device, as the program names it', text),
    pushToTalk: switchFlag('listen while the space bar is held, or from one press to the next'),
  }),
  ...flagGroup('Output:', {
    output: flag('<file>', 'also write the transcript to a file', text),
    format: { ...format, help: 'text, json, vtt, srt or ndjson (default: text)' },
    clipboard: switchFlag('copy the text at the end'),
    on: onFlag,
    record: { ...record, help: 'record the session to a cassette' },
    ...withoutHelp({ words }),
  }),
  ...flagGroup('Recognition:', {
    model: { ...model, help: 'the model (default: the only one of --models, or English)' },
    models: { ...models, help: 'a folder of models; may be repeated' },
    language: { ...languageFlags.language, help: 'the language of the speech, such as fr, or auto' },
    phrase: { ...phrase, help: 'a sentence that the model is to know, too; may be repeated' },
    ...withoutHelp({ over, phrases, modelTenant }),
  }),
  ...flagGroup('Another service:', {
    access: { ...access, help: 'the development.json of serve --dev' },
    url,
    grpc,
    ...withoutHelp(connection),
  }),
}

/** `rxspeech listen`: the microphone in a terminal. */
export const addListen = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Shows what is said into the microphone. Space mutes, c copies the text so far, q or Ctrl-C ends after the last ' +
      'words, a second Ctrl-C at once. Text that may still change is dim. Further options of a model, a session and ' +
      'another service are those of rxspeech transcribe --help.',
    flags: listenFlags,
    examples: [
      ['rxspeech listen', 'any English speech, in this process'],
      ['rxspeech listen --push-to-talk --clipboard', 'dictate with the space bar, and paste the text elsewhere'],
      ['rxspeech listen --output notes.srt --format srt', 'also captions in a file'],
      [
        "rxspeech listen --on 'turn {state} the lights' 'lamp --state={state}'",
        'run a program by voice, without a shell',
      ],
      ['rxspeech listen --recorder ffmpeg --device hw:1', 'another program, and another microphone'],
    ],
    run: async ({ flags, host, output }) => {
      const plan = await planListen(flags, host)
      const { runListen } = await import('../listen/run-listen.js')
      await runListen(plan, host, output)
    },
  })

/** Checks the combination of the flags. Throws `invalid-options` with a sentence that says what to set. */
export const planListen = async (
  flags: FlagValues<typeof listenFlags>,
  host: Pick<Host, 'env'>,
): Promise<ListenPlan> => {
  const { recorder, device, pushToTalk, output, clipboard, on } = flags
  if (device !== undefined && recorder?.trim().includes(' ') === true) {
    throw usageError('--device does not go with a command as --recorder; name the device in the command.')
  }
  const { service, over, language, phrases, timeoutMs, record, format, hasWords } = planTranscribe(
    [],
    { ...unusedFlags, ...flags },
    host.env,
  )
  const { spokenCommands } = await import('../listen/spoken-command.js')
  return {
    service,
    over,
    language,
    phrases,
    timeoutMs,
    record,
    recorder,
    device,
    isPushToTalk: pushToTalk,
    format,
    hasWords,
    output,
    hasClipboard: clipboard,
    commands: spokenCommands(on, host),
  }
}

/** Those of recordings. */
const unusedFlags = {
  merge: false,
  watch: undefined,
  encoding: undefined,
  rate: undefined,
  channels: undefined,
  speed: undefined,
  outputDir: undefined,
  speakers: undefined,
  reference: undefined,
  jobs: 1,
} as const
