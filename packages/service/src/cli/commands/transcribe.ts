import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { makeFolder } from 'rxspeech-server/identity/state/state-files'
import { commonPace } from 'rxspeech/internal/client/audio/rate-limiter'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { columnsOf } from 'rxspeech/internal/operators/captions/caption-tokens'
import { expandFiles, requireDistinctStems } from '../input/file-names.js'
import { isAddress } from '../input/input-name.js'
import type { InputFile } from '../input/recordings-in-folder.js'
import { rawFlags, rawFormat } from '../input/raw-flags.js'
import type { Pace } from '../input/sendable-audio.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, flagOr, switchFlag, type FlagValues } from '../parsing/flags.js'
import { phraseFlags, typedPhrases } from '../input/phrase-flags.js'
import { languageFlags, modelFlags, planService, serviceFlags, type Environment } from '../parsing/service-flags.js'
import { oneOf, speakers, speed, text, wholeNumber } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { embeddedModel } from '../process/package-files.js'
import type { ServicePlan } from '../service/reach-service.js'
import type { OutputPlan } from '../transcription/recording-output.js'
import type { TranscriptionPlan } from '../transcription/run-recording.js'
import { formatExtensions, type TranscriptFormat } from '../view/format-view.js'

const formats = Object.keys(formatExtensions) as readonly TranscriptFormat[]
const transports = ['grpc', 'websocket'] as const

const maxJobs = 64

export const transcribeFlags = {
  ...flagGroup('Input:', {
    ...rawFlags,
    watch: flag(
      '<dir>',
      'transcribe the recordings of a folder and of those in it, each once, and those that come, until Ctrl-C; the transcripts are beside them, or in --output-dir',
      text,
    ),
    merge: switchFlag('two recordings of one channel each are one call; its speakers have the names of the files'),
    speed: flag(
      '<times>',
      'times real time, such as 1, or max (default: max in this process; for another service 4 s at once, then 1.2)',
      speed,
    ),
  }),
  ...flagGroup('Output:', {
    format: flagOr(
      '<name>',
      'text: definitive lines in the order of time; json: a line with the segments of each recording; vtt or srt: captions; ' +
        'ndjson: every event as one line of JSON',
      oneOf(formats),
      'text',
    ),
    words: switchFlag('text and json: also each word with its times and confidence'),
    outputDir: flag(
      '<dir>',
      'a file for each recording there, such as call.txt for call.wav, in place of stdout',
      text,
    ),
    speakers: flag('<names>', 'the names of the channels (default: left,right, or none for one channel)', speakers),
    record: flag('<file>', 'record the session to a cassette, with audio, without tokens', text),
    reference: flag(
      '<file>',
      'a text of what is said, or a folder with call.txt for call.wav; the wrong words and the word error rate go to stderr',
      text,
    ),
  }),
  ...flagGroup('Recognition:', {
    jobs: flagOr(
      '<count>',
      'how many recordings are transcribed at a time',
      wholeNumber({ min: 1, max: maxJobs }),
      '1',
    ),
    over: flag('<transport>', 'grpc or websocket (default: that of the address, else grpc)', oneOf(transports)),
    ...languageFlags,
    ...phraseFlags,
    ...modelFlags,
  }),
  ...serviceFlags,
}

type TranscribeFlags = FlagValues<typeof transcribeFlags>

/** The checked plan of `transcribe`. */
export interface TranscribePlan extends TranscriptionPlan, OutputPlan {
  /** The folder whose recordings are transcribed as they come. */
  readonly watch: string | undefined
  /** Names and patterns of names. */
  readonly files: readonly string[]
  readonly jobs: number
  /** The file with what is said, or the folder with one for each recording. */
  readonly reference: string | undefined
}

/** `rxspeech transcribe FILE…`: the transcripts on stdout or in files, the summary on stderr. */
export const addTranscribe = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description:
      'Transcribes recordings: WAV files of PCM, floats, µ-law or A-law, mono or stereo, 8000 to 48000 Hz, or raw samples. ' +
      'With ffmpeg on the PATH any other file with sound. ' +
      'FILE may be a folder, whose recordings are transcribed with those of the folders in it, an http or https address, - for standard input, or a quoted pattern. Without an address the embedded service runs in this process. ' +
      'With several files, one that fails does not end the others; the summary names it, and the exit code is not 0.',
    argument: ['[file...]', "recordings, folders of them, addresses, patterns such as 'calls/**/*.wav', or -"],
    flags: transcribeFlags,
    examples: [
      ['rxspeech transcribe call.wav', 'any English speech, in this process'],
      ['rxspeech transcribe call.wav --models ./models --model sales', 'with your own model'],
      [
        'rxspeech transcribe calls/*.wav --jobs 4 --format srt --output-dir subtitles',
        'many recordings, four at a time, each into a file',
      ],
      [
        'arecord -t raw -f S16_LE -r 16000 | rxspeech transcribe - --encoding pcm --rate 16000',
        'transcribe a microphone; Ctrl-C ends it after the last words',
      ],
      [
        'rxspeech transcribe call.wav --grpc speech.example.com:443 --auth-url https://auth.example.com --client-id acme --tenant Acme',
        'with another service; the secret is in RXSPEECH_CLIENT_SECRET',
      ],
      [
        'rxspeech transcribe calls/*.wav --format json --words | jq -r \'.file + ": " + .text\'',
        'a line of JSON for each recording',
      ],
      ['rxspeech transcribe calls --format json --output-dir texts', 'a folder, into the same folders of texts'],
      ['rxspeech transcribe --merge agent.wav customer.wav', 'the two sides of a call in two files'],
      ['rxspeech transcribe --watch calls --format srt --jobs 2', 'each recording that comes into a folder'],
      ['rxspeech transcribe calls/*.wav --reference texts', 'how many words are right'],
      ['rxspeech transcribe call.wav --format vtt --speakers Agent,Guest > call.vtt', 'captions of the call'],
    ],
    run: async ({ argument, flags, host, output }: CommandCall<typeof transcribeFlags, readonly string[]>) => {
      checkWatch(argument, flags)
      const typed = planTranscribe(argument, flags, host.env)
      if (typed.watch !== undefined) {
        await watchRecordings({ ...typed, watch: typed.watch }, { host, output })
        return
      }
      const found = await expandFiles(typed.files)
      const { plan, files } = flags.merge ? mergedCall(typed, found) : { plan: typed, files: found }
      checkFiles(plan, files)
      if (plan.service.where === 'here') await checkFolders(plan.service.modelFolders)
      await createFolder(plan.outputDir)
      const { runTranscribe } = await import('../transcription/run-transcribe.js')
      await runTranscribe(plan, files, host, output)
    },
  })

const watchRecordings = async (
  plan: TranscribePlan & { readonly watch: string },
  { host, output }: CommandContext,
): Promise<void> => {
  if (statSync(plan.watch, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw usageError(`--watch names ${plan.watch}, which is no folder; create it, or choose another.`)
  }
  if (plan.service.where === 'here') await checkFolders(plan.service.modelFolders)
  await createFolder(plan.outputDir)
  const { runWatch } = await import('../transcription/run-watch.js')
  await runWatch(plan, host, output)
}

/**
 * Checks the combination of the flags. Throws `invalid-options` with a sentence that says what to set, before anything
 * is opened.
 */
export const planTranscribe = (files: readonly string[], flags: TranscribeFlags, env: Environment): TranscribePlan => {
  const raw = rawFormat(flags)
  const service = planService(flags, env, flags.over, files.some(isAddress))
  const { timeoutMs, watch, record, format, reference, jobs, outputDir, words, language } = flags
  const phrases = typedPhrases(flags)
  if (phrases !== undefined && isDefaultModel(service)) throw usageError(withoutPhrases)
  if (words && format !== 'text' && format !== 'json') {
    throw usageError(`--words is for text and json; ${format === 'ndjson' ? 'ndjson has them' : 'captions have none'}.`)
  }
  return {
    files: files.map((file) => text(file, 'FILE')),
    raw,
    service,
    proxy: flags.proxy,
    over: transportOf(flags, service),
    pace: paceOf(flags, service),
    language,
    phrases,
    format,
    speakers: speakersOf(flags),
    hasWords: words,
    timeoutMs,
    record,
    reference,
    jobs,
    outputDir,
    watch,
  }
}

const checkWatch = (files: readonly string[], { watch, merge, record, reference }: TranscribeFlags): void => {
  if (watch === undefined) {
    if (files.length > 0) return
    throw usageError("Missing required argument 'file'; rxspeech transcribe --help shows the usage.")
  }
  if (merge) throw usageError('--merge is for two files; omit it with --watch.')
  if (files.length > 0) throw usageError('--watch DIR is for the recordings of that folder; omit the others.')
  if (record !== undefined) throw usageError('--record is for one recording; omit it with --watch.')
  if (reference !== undefined) throw usageError('--reference is for recordings that are there; omit it with --watch.')
}

const isDefaultModel = (service: ServicePlan): boolean =>
  service.where === 'here' && service.model === undefined && service.modelFolders.length === 0

const withoutPhrases =
  `The model ${embeddedModel.name} reads any English speech as it is, and takes no phrases. Leave them out; or, to recognize those ` +
  'sentences and no others, make a model of a file with one per line: rxspeech models add NAME --phrases FILE --models DIR, then ' +
  'rxspeech transcribe with --models DIR.'

/** Two recordings as one, whose speakers have the names of the files unless others are given. */
const mergedCall = (
  plan: TranscribePlan,
  files: readonly InputFile[],
): { readonly plan: TranscribePlan; readonly files: readonly (InputFile & { readonly mergedWith?: string })[] } => {
  const [first, second, more] = files
  if (first === undefined || second === undefined || more !== undefined || [first.file, second.file].includes('-')) {
    throw usageError(`--merge takes two files, the channels of a call; there ${count(files.length)}.`)
  }
  const names = [first.stem, second.stem].map((stem) => basename(stem))
  return {
    plan: { ...plan, speakers: plan.speakers ?? names },
    files: [{ file: first.file, stem: names.join('+'), mergedWith: second.file }],
  }
}

const count = (files: number): string => (files === 1 ? 'is one' : `are ${files}`)

/** Checks the files that were typed or found, before anything is opened. Throws `invalid-options`. */
export const checkFiles = (plan: TranscribePlan, files: readonly InputFile[]): void => {
  const { format, outputDir, reference, record } = plan
  const extension = formatExtensions[format]
  const inputs = new Set(files.map(({ file }) => resolve(file)))
  if (record !== undefined && inputs.has(resolve(record))) {
    throw usageError(`${record} is a recording; choose another file for --record.`)
  }
  if (outputDir !== undefined) {
    requireDistinctStems(files, extension)
    const written = files.map(({ stem }) => join(outputDir, `${stem}.${extension}`))
    const overwritten = written.find((path) => inputs.has(resolve(path)))
    if (overwritten !== undefined) throw usageError(`${overwritten} is a recording; choose another --output-dir.`)
    const texts = new Set(reference === undefined ? [] : referencePaths(reference, files).map((path) => resolve(path)))
    const lost = written.find((path) => texts.has(resolve(path)))
    if (lost !== undefined) throw usageError(`${lost} is a text of --reference; choose another --output-dir.`)
  }
  if (files.length === 1) return
  if (reference !== undefined) requireDistinctStems(files, 'txt')
  if (record !== undefined) throw usageError('--record is for one recording; transcribe them one at a time.')
  if (outputDir === undefined && format !== 'text' && format !== 'json') {
    throw usageError(`The ${format} of several recordings needs a file for each; set --output-dir.`)
  }
}

/** The file of `--reference`, and those that a folder of that name would have. */
const referencePaths = (reference: string, files: readonly InputFile[]): readonly string[] => [
  reference,
  ...files.map(({ stem }) => join(reference, `${stem}.txt`)),
]

/** Loads the code of the engines on demand. */
const checkFolders = async (folders: readonly string[]): Promise<void> => {
  if (folders.length > 0) (await import('../input/find-models.js')).checkModelFolders(folders)
}

const createFolder = async (folder: string | undefined): Promise<void> => {
  if (folder === undefined) return
  await makeFolder(resolve(folder)).catch((error: unknown) => {
    const code = codeOf(error) ?? 'unknown'
    const problem = code === 'EEXIST' ? 'is a file' : `cannot be created (${code})`
    throw usageError(`--output-dir names ${folder}, which ${problem}; choose another folder.`, error)
  })
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
