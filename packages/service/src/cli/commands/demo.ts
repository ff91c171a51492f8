import type { Command } from 'commander'
import { inputName } from '../input/input-name.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag } from '../parsing/flags.js'
import { exampleText, helpColumns, wrapText } from '../parsing/help-text.js'
import { speed } from '../parsing/values.js'
import type { Host } from '../process/host.js'
import { isCheckout, embeddedModel, missingEmbeddedModel, sampleCall } from '../process/package-files.js'
import { paintFor } from '../view/paint.js'
import { openTextView } from '../view/text-view.js'
import { programOf, shellWord, shortPath } from '../view/typed-command.js'

const demoFlags = {
  speed: flag('<times>', 'times real time, or max (default: max, and 4 for the sample call)', speed),
}

/** Half a minute of audio in less than ten seconds, and slow enough to watch. */
const sampleSpeed = 4

/** Nothing is waited for but this machine, which may be slow. */
const timeoutMs = 120_000

/** A part of the demonstration: a recording read by a model. */
interface Part {
  readonly title: string
  readonly model: string
  readonly speed: number
}

/** The sample call is read by both kinds of models; without the embedded model by its grammar only. */
const partsOf = (isSample: boolean, speed: number | undefined): readonly Part[] => {
  const missing = missingEmbeddedModel()
  if (missing !== undefined && !isSample) throw missing
  const free: Part = {
    title: `The model ${embeddedModel.name} reads any English speech:`,
    model: embeddedModel.name,
    speed: speed ?? (isSample ? sampleSpeed : Infinity),
  }
  if (!isSample) return [free]
  const grammar = 'The model call reads the sentences of a grammar, and nothing else:'
  return missing === undefined
    ? [free, { title: grammar, model: 'call', speed: speed ?? Infinity }]
    : [{ title: `${missing.message} ${grammar}`, model: 'call', speed: speed ?? sampleSpeed }]
}

/** Commands to try next, as they work in this folder. */
const nextSteps = (recording: string | undefined, { stdout, env }: Host): string => {
  const program = programOf(env, !isCheckout)
  const file = shellWord(shortPath(recording ?? sampleCall(), process.cwd()))
  return exampleText(
    [
      recording === undefined
        ? [`${program} transcribe my.wav`, 'a recording of your own']
        : [`${program} transcribe ${file} --format srt`, 'captions of this recording'],
      [`${program} serve --dev`, 'a page on which you speak, whose address it prints'],
      [
        `echo 'turn the lights on' > phrases.txt && ${program} models add lights --phrases phrases.txt --models models && ${program} serve --dev --models models`,
        'a model of your own sentences, for commands',
      ],
    ],
    { paint: paintFor(stdout, env), columns: helpColumns(stdout) },
    'Try next',
  )
}

/** `rxspeech demo`: the service and a client of it in one process, over the sample call or a recording. */
export const addDemo = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Starts the service in this process (token endpoint, gRPC and WebSocket over TLS), gets a token from it and ' +
      'transcribes a recording through a gRPC session: a WAV file of English speech, or the sample call, which is also read by ' +
      'the model of its grammar. Needs no account and no network.',
    argument: ['[file]', 'a WAV file (default: the sample call)'],
    flags: demoFlags,
    run: async ({ argument: recording, flags, host, output }: CommandCall<typeof demoFlags, string | undefined>) => {
      const file = recording ?? sampleCall()
      const isSample = recording === undefined
      const paint = paintFor(host.stdout, host.env)
      const columns = helpColumns(host.stdout)
      const write = (text: string): void => output.write(`${wrapText(text, columns).join('\n')}\n`)
      const what = isSample ? 'a telephone call' : inputName(file)
      const parts = partsOf(isSample, flags.speed)
      const intro = `rxspeech starts its own service in this process, gets a token from it and streams ${what} through gRPC.`
      output.write(`${wrapText(intro, columns).join('\n').replace('rxspeech', paint('bold', 'rxspeech'))}\n`)
      const { transcribeRecording } = await import('../transcription/transcribe-recordings.js')
      for (const { title, model, speed: times } of parts) {
        write('')
        write(title)
        write('')
        const summary = await transcribeRecording(
          {
            service: { where: 'here', modelFolders: [], model, tenant: 'Default', project: 'transcribe' },
            over: 'grpc',
            pace: { speed: times },
            timeoutMs,
          },
          {
            input: { file },
            openView: ({ format: { channels } }, reader, pane) =>
              openTextView({
                pane,
                reader,
                channels,
                style: { speakers: speakersOf(isSample, channels), paint },
                isPaced: false,
              }),
            whenWritable: output.whenWritable,
            ended: () => undefined,
          },
          host,
          output,
        )
        output.write(`\n${paint('green', summary)}\n`)
      }
      output.write(`${nextSteps(recording, host)}\n`)
    },
  })

const speakersOf = (isSample: boolean, channels: number): readonly string[] =>
  channels === 1 ? [] : isSample ? ['agent', 'customer'] : ['left', 'right']
