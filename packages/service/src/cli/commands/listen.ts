import type { Command } from 'commander'
import { phraseFlags } from '../input/phrase-flags.js'
import { defineCommand, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, repeatedFlag, switchFlag, type FlagValues } from '../parsing/flags.js'
import { languageFlags, modelFlags, serviceFlags } from '../parsing/service-flags.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { ListenPlan } from '../listen/run-listen.js'
import { planTranscribe, transcribeFlags } from './transcribe.js'

/** Two values for each time. */
const onFlag = repeatedFlag(
  '<sentence> <program...>',
  "run a program when this is said, such as --on 'lights {state}' 'lamp {state}'; {name} is one or more words, or a " +
    'slot of the grammar, and {name=value} a slot with this value; never through a shell',
  text,
)

const { format, words, record, over } = transcribeFlags

export const listenFlags = {
  ...flagGroup('Microphone:', {
    recorder: flag(
      '<program>',
      'arecord, ffmpeg, sox or rec, by name or path, or a command in quotes that writes 16-bit PCM of 16000 Hz, mono ' +
        '(default: the first in PATH)',
      text,
    ),
    device: flag('<name>', 'the device, as the program names it (default: that of the system)', text),
    pushToTalk: switchFlag(
      'listen only while the space bar is held, or from one press to the next; a held key ends 0.3 s late, because ' +
        'terminals report no release',
    ),
  }),
  ...flagGroup('Output:', {
    format,
    words,
    output: flag('<file>', 'also a file for the transcript, in the format; the terminal shows text then', text),
    clipboard: switchFlag('copy the text at the end'),
    record,
    on: onFlag,
  }),
  ...flagGroup('Recognition:', { over, ...languageFlags, ...phraseFlags, ...modelFlags }),
  ...serviceFlags,
}

/** `rxspeech listen`: the microphone in a terminal. */
export const addListen = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Shows what is said into the microphone, which a program records: arecord, ffmpeg or sox. What may still change is ' +
      'dim, and a line that is definitive stays. Space mutes, c copies the text so far, q or Ctrl-C ends after the last ' +
      'words, a second Ctrl-C at once. Without an address the embedded service runs in this process. Without a terminal ' +
      'there are no keys, and stdout gets the lines.',
    flags: listenFlags,
    examples: [
      ['rxspeech listen', 'any English speech, in this process'],
      ['rxspeech listen --push-to-talk --clipboard', 'dictate with the space bar, and paste the text elsewhere'],
      ['rxspeech listen --output notes.srt --format srt', 'also captions in a file'],
      ["rxspeech listen --on 'turn {state} the lights' 'lamp --state={state}'", 'run a program by voice'],
      [
        "rxspeech listen --models ./models --model orders --on '{intent=book}' 'book --guests={guests}'",
        'with the slots of a grammar',
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
