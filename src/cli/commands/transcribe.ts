import type { Command } from 'commander'
import { encodings, maxSampleRateHz, minSampleRateHz, validateFormat, type AudioFormat } from '../../audio/format.js'
import { commonPace } from '../../client/audio/rate-limiter.js'
import { columnsOf } from '../../operators/captions/caption-tokens.js'
import type { Pace } from '../input/sendable-audio.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, flagOr, type FlagValues } from '../parsing/flags.js'
import { modelFlags, planService, serviceFlags, type Environment } from '../parsing/service-flags.js'
import { oneOf, speakers, speed, text, wholeNumber } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { ServicePlan } from '../service/reach-service.js'
import type { OpenView, TranscriptionPlan } from '../transcription/transcribe-recording.js'
import { captionView } from '../view/caption-view.js'
import { ndjsonView } from '../view/ndjson-view.js'
import { paintFor } from '../view/paint.js'
import { defaultColumns } from '../view/live-screen.js'
import { openTerminalView } from '../view/text-view.js'

const formats = ['text', 'ndjson', 'vtt', 'srt'] as const
const transports = ['grpc', 'websocket'] as const

export const transcribeFlags = {
  ...flagGroup('Input:', {
    encoding: flag('<name>', 'the encoding of raw samples: pcm, ulaw or alaw', oneOf(encodings)),
    rate: flag('<hz>', 'the sample rate of raw samples', wholeNumber({ min: minSampleRateHz, max: maxSampleRateHz })),
    channels: flag('<count>', '1 or 2 channels of raw samples (default: 1)', wholeNumber({ min: 1, max: 2 })),
    speed: flag(
      '<times>',
      'times real time, such as 1, or max (default: max in this process; for another service 4 s at once, then 1.2)',
      speed,
    ),
  }),
  ...flagGroup('Output:', {
    format: flagOr(
      '<name>',
      'text: definitive lines in the order of time; vtt or srt: captions; ndjson: every event as one line of JSON',
      oneOf(formats),
      'text',
    ),
    speakers: flag('<names>', 'the names of the channels (default: left,right, or none for one channel)', speakers),
    record: flag('<file>', 'record the session to a cassette, with audio, without tokens', text),
    reference: flag('<file>', 'a text of what is said; the wrong words and the word error rate go to stderr', text),
  }),
  ...flagGroup('Recognition:', {
    over: flag('<transport>', 'grpc or websocket (default: that of the address, else grpc)', oneOf(transports)),
    ...modelFlags,
  }),
  ...serviceFlags,
}

type TranscribeFlags = FlagValues<typeof transcribeFlags>

/** The checked plan of `transcribe`. */
export interface TranscribePlan extends TranscriptionPlan {
  readonly format: (typeof formats)[number]
  /** One for each channel. */
  readonly speakers: readonly string[] | undefined
  /** The file with what is said. */
  readonly reference: string | undefined
}

/** `rxspeech transcribe FILE`: the transcript on stdout, the summary on stderr. */
export const addTranscribe = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Transcribes a recording: a WAV file of PCM, floats, µ-law or A-law, mono or stereo, 8000 to 48000 Hz, or raw samples. ' +
      'FILE may be - for standard input. Without an address the embedded service runs in this process.',
    argument: ['<file>', 'a WAV file, raw samples with --encoding, or - for standard input'],
    flags: transcribeFlags,
    examples: [
      ['rxspeech transcribe call.wav --models ./models --model sales', 'with your own model, in this process'],
      [
        'arecord -t raw -f S16_LE -r 16000 | rxspeech transcribe - --encoding pcm --rate 16000 --models ./models',
        'transcribe a microphone; Ctrl-C ends it after the last words',
      ],
      [
        'rxspeech transcribe call.wav --grpc speech.example.com:443 --auth-url https://auth.example.com --client-id acme --tenant Acme',
        'with another service; the secret is in RXSPEECH_CLIENT_SECRET',
      ],
      ['rxspeech transcribe call.wav --format ndjson | jq -r \'select(.type=="final").text\'', 'every event as JSON'],
      ['rxspeech transcribe call.wav --models ./models --reference call.txt', 'how many words are right'],
      ['rxspeech transcribe call.wav --format vtt --speakers Agent,Guest > call.vtt', 'captions of the call'],
    ],
    run: async ({ argument, flags, host, output }: CommandCall<typeof transcribeFlags, string>) => {
      const plan = planTranscribe(argument, flags, host.env)
      const { transcribeRecording } = await import('../transcription/transcribe-recording.js')
      const openView = viewOf(plan, { host, output })
      if (plan.reference === undefined) {
        const summary = await transcribeRecording(plan, openView, host, output)
        host.stderr.write(`${summary}\n${isSampleModel(plan) ? sampleNote : ''}`)
        return
      }
      const { readReference, ReferenceComparison } = await import('../transcription/reference.js')
      const comparison = new ReferenceComparison(await readReference(plan.reference))
      const openCompared: OpenView = async (audio, reader) =>
        comparison.watch(await openView(audio, reader), namesFor(plan, audio.format.channels))
      const summary = await transcribeRecording(plan, openCompared, host, output)
      const style = { paint: paintFor(host.stderr, host.env), columns: host.stderr.columns ?? defaultColumns }
      host.stderr.write(`${summary}\n${comparison.report(style)}`)
    },
  })

/**
 * Checks the combination of the flags. Throws `invalid-options` with a sentence that says what to set, before anything
 * is opened.
 */
export const planTranscribe = (file: string, flags: TranscribeFlags, env: Environment): TranscribePlan => {
  const raw = rawFormat(flags)
  const service = planService(flags, env, flags.over)
  const { timeoutMs, record, format, reference } = flags
  return {
    input: { file: text(file, 'FILE'), raw },
    service,
    over: transportOf(flags, service),
    pace: paceOf(flags, service),
    format,
    speakers: speakersOf(flags),
    timeoutMs,
    record,
    reference,
  }
}

const rawFormat = ({ encoding, rate, channels }: TranscribeFlags): AudioFormat | undefined => {
  if (encoding !== undefined && rate !== undefined) {
    return validateFormat({ encoding, sampleRateHz: rate, channels: channels ?? 1 })
  }
  if (encoding !== undefined) throw usageError('Raw samples need a rate; set it with --rate, such as --rate 8000.')
  if (rate === undefined && channels === undefined) return undefined
  throw usageError('--rate and --channels are for raw samples and need --encoding; a WAV file has its own.')
}

/**
 * The speed of the flag. Without it the embedded service, which has no limit, gets audio as fast as it reads. Another
 * service may have a limit, which is known only after a refusal, so it gets audio at a pace that services commonly
 * accept.
 */
const paceOf = ({ speed: requestedSpeed }: TranscribeFlags, { where }: ServicePlan): Pace => {
  if (requestedSpeed !== undefined) return { speed: requestedSpeed }
  return where === 'here' ? { speed: Infinity } : commonPace
}

const maxCaptionNameColumns = 19

/** A caption can contain only a short name: half of its first line is for words. */
const speakersOf = ({ speakers: names, format }: TranscribeFlags): readonly string[] | undefined => {
  const isCaption = format === 'vtt' || format === 'srt'
  if (!isCaption || names === undefined || names.every((name) => columnsOf(name) <= maxCaptionNameColumns)) return names
  throw usageError(`--speakers of captions must be names of at most ${maxCaptionNameColumns} characters.`)
}

/** The transport of the address; gRPC for the embedded service. */
const transportOf = ({ over }: TranscribeFlags, service: ServicePlan): TranscribePlan['over'] => {
  if (service.where === 'here') return over ?? 'grpc'
  const { url, grpc, model } = service
  if (over === undefined && url !== undefined && grpc !== undefined) {
    throw usageError(
      '--url and --grpc are addresses of two transports; choose one with --over grpc or --over websocket.',
    )
  }
  const chosen = over ?? (grpc === undefined ? 'websocket' : 'grpc')
  if (chosen === 'grpc' && grpc === undefined) {
    throw usageError('A session over gRPC needs an address; set --grpc HOST:PORT, or --over websocket.')
  }
  if (chosen === 'websocket' && url === undefined) {
    throw usageError('A session over WebSocket needs an address; set --url wss://HOST, or --over grpc.')
  }
  if (chosen === 'websocket' && model === undefined) {
    throw usageError('A session over WebSocket needs a model; set --model NAME.')
  }
  return chosen
}

/** The sample model is a grammar of one call, independent of the recording. */
const sampleNote =
  'Recognized with the sample model "call", which covers only one phone call; use --models for your own recordings.\n'

const isSampleModel = ({ service }: TranscribePlan): boolean =>
  service.where === 'here' && service.modelFolders.length === 0 && service.model === 'call'

/** The names for the channels of the recording. Throws `invalid-options` if there are more or fewer names. */
const namesFor = ({ speakers: names }: TranscribePlan, channels: number): readonly string[] => {
  if (names === undefined) return channels === 1 ? [] : ['left', 'right']
  if (names.length === channels) return names
  const count = channels === 1 ? 'one channel' : `${channels} channels`
  throw usageError(`--speakers must be one name for each channel; the recording has ${count}.`)
}

const viewOf = (plan: TranscribePlan, { host, output }: CommandContext): OpenView => {
  const { format, pace } = plan
  switch (format) {
    case 'text':
      return (audio, reader) =>
        openTerminalView({
          terminals: { out: output.terminal, err: host.stderr, env: host.env },
          reader,
          style: { speakers: namesFor(plan, audio.format.channels), paint: paintFor(host.stdout, host.env) },
          channels: audio.format.channels,
          speed: pace.speed,
          totalMs: audio.durationMs,
        })
    case 'ndjson':
      return ({ format: { channels } }, reader) => {
        namesFor(plan, channels)
        return ndjsonView(output.write, reader)
      }
    case 'vtt':
    case 'srt':
      return ({ format: { channels }, durationMs }, reader) =>
        captionView({
          format,
          reader,
          speakers: namesFor(plan, channels),
          // The cues of a recording of known length are put in order; those of live audio are written at once.
          channels: durationMs === undefined ? undefined : channels,
          isHurried: durationMs !== undefined && pace.speed > 1,
          write: output.write,
          note: (line) => void host.stderr.write(`${line}\n`),
        })
  }
}
