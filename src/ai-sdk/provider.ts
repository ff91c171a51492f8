import { catchError, EMPTY, finalize, takeUntil, throwError, type Observable } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import { readWav } from '../audio/read-wav.js'
import type { RecognizeOptions } from '../client/recognizer/recognize-on.js'
import { recognitionCodecs, type RecognitionOptions } from '../client/recognition-options.js'
import type { Recognition } from '../client/session.js'
import { SpeechError } from '../errors/speech-error.js'
import { fromAbortSignal } from '../operators/interop/from-abort-signal.js'
import { toReadableStream } from '../operators/interop/to-readable-stream.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { checkOptions, oneOf, optionsOf, text } from '../protocol/validation.js'
import { callError } from './call-error.js'
import { Transcription } from './transcription.js'
import type {
  SpecificationVersion,
  TranscriptionCall,
  TranscriptionCallOptions,
  TranscriptionModel,
  TranscriptionStreamPart,
  TranscriptionSummary,
  TranscriptionWarning,
} from './transcription-model.js'

/** The options of `recognize`, without those that each call has. */
export interface RxspeechOptions<Version extends SpecificationVersion = 'v4'> extends Omit<
  RecognizeOptions,
  'model' | 'format' | 'finalize$' | 'stop$'
> {
  /** The version of the model interface: `v4` for `ai` 7, `v3` for `ai` 6. @default 'v4' */
  readonly specificationVersion?: Version | undefined
}

/** `providerOptions.rxspeech` of a call: they replace those of the provider. */
export interface RxspeechCallOptions extends RecognitionOptions {
  /** The tenant of the model. @default that of the provider */
  readonly tenant?: string | undefined
}

/** The models of a service for the AI SDK. */
export interface RxspeechProvider<Version extends SpecificationVersion = 'v4'> {
  /** The version of the model interface. */
  readonly specificationVersion: Version
  /** The model of this name; the service says whether it is there when it is called. */
  transcription(modelId: string): TranscriptionModel<Version>
  /** The same, by the name that registries of providers use. */
  transcriptionModel(modelId: string): TranscriptionModel<Version>
  /** Throws: the service has transcription models only. */
  languageModel(modelId: string): never
  /** Throws: the service has transcription models only. */
  embeddingModel(modelId: string): never
  /** Throws: the service has transcription models only. */
  imageModel(modelId: string): never
}

type Recognize = (options: RecognizeOptions) => Recognition

/** `createRxspeech` of a platform. */
export const createRxspeechOn =
  (recognize: Recognize) =>
  <Version extends SpecificationVersion = 'v4'>({
    specificationVersion = 'v4' as Version,
    ...options
  }: RxspeechOptions<Version>): RxspeechProvider<Version> => {
    checkOptions(oneOf('v3', 'v4'), specificationVersion, 'specificationVersion')
    const transcription = (modelId: string): TranscriptionModel<Version> => {
      const begin = (format: AudioFormat, call: TranscriptionCall) => {
        const own = callOptionsOf(call)
        const voiceActivity = { ...lastsThroughSilence, ...options.voiceActivity, ...own.voiceActivity }
        const session = { ...options, ...own, voiceActivity, model: modelId, format }
        const recognition = recognize(session)
        const abort$ = call.abortSignal === undefined ? EMPTY : fromAbortSignal(call.abortSignal)
        return {
          transcription: new Transcription(session.language),
          response: { timestamp: new Date(), modelId },
          eventsOf: (audio: Parameters<Recognition>[0]): Observable<SessionEvent> =>
            recognition(audio).pipe(
              catchError((error: unknown) => throwError(() => callError(error, session.url))),
              takeUntil(abort$),
            ),
        }
      }
      return {
        specificationVersion,
        provider: 'rxspeech',
        modelId,
        doGenerate: async (call) => {
          const { format, audio } = await readWav([bytesOf(call.audio)])
          const { transcription, response, eventsOf } = begin(format, call)
          await eventsOf(audio).forEach((event) => void transcription.add(event))
          call.abortSignal?.throwIfAborted()
          const summary = transcription.summary()
          return { ...summary, warnings: warningsOf(summary, call), response }
        },
        // eslint-disable-next-line @typescript-eslint/require-await -- invalid options reject
        doStream: async ({ audio, inputAudioFormat, includeRawChunks = false, ...call }) => {
          const { transcription, response, eventsOf } = begin(formatOf(inputAudioFormat), call)
          const bytes = audio.pipeThrough(
            new TransformStream<Uint8Array | string, Uint8Array>({
              transform: (chunk, controller) => controller.enqueue(bytesOf(chunk)),
            }),
          )
          const parts = new TransformStream<SessionEvent, TranscriptionStreamPart>({
            start: (controller) => controller.enqueue({ type: 'stream-start', warnings: [] }),
            transform: (event, controller) => {
              if (includeRawChunks) controller.enqueue({ type: 'raw', rawValue: event })
              const part = transcription.add(event)
              if (part !== undefined) controller.enqueue(part)
            },
            flush: (controller) => {
              call.abortSignal?.throwIfAborted()
              const { language, ...summary } = transcription.summary()
              controller.enqueue({ type: 'finish', ...summary, ...(language !== undefined && { language }) })
            },
          })
          // A session that ends before it has begun to read leaves the stream unlocked.
          const cancelled = finalize<SessionEvent>(() => {
            if (!bytes.locked) void bytes.cancel().catch(() => undefined)
          })
          return { stream: toReadableStream(eventsOf(bytes).pipe(cancelled)).pipeThrough(parts), response }
        },
      }
    }
    return {
      specificationVersion,
      transcription,
      transcriptionModel: transcription,
      languageModel: noSuchModel,
      embeddingModel: noSuchModel,
      imageModel: noSuchModel,
    }
  }

/** A recording may have long silences, which end no recognition. */
const lastsThroughSilence = { gracefulSilenceThresholdMs: 0 }

const callOptions = optionsOf<RxspeechCallOptions>()({}, { ...recognitionCodecs, tenant: text })

const callOptionsOf = ({ providerOptions = {}, headers = {} }: TranscriptionCall): RxspeechCallOptions => {
  const header = Object.keys(headers).find((name) => name.toLowerCase() !== 'user-agent')
  if (header !== undefined) {
    throw new SpeechError(
      'invalid-options',
      `headers.${header} cannot be sent; set headers of the connection with presentToken of createRxspeech.`,
    )
  }
  return checkOptions(callOptions, providerOptions['rxspeech'] ?? {}, 'providerOptions.rxspeech')
}

const noSuchModel = (modelId: string): never => {
  throw new SpeechError(
    'invalid-options',
    `rxspeech has transcription models only; use transcription(${JSON.stringify(modelId)}).`,
  )
}

const bytesOf = (audio: Uint8Array | string): Uint8Array =>
  typeof audio === 'string' ? Uint8Array.from(atob(audio), (character) => character.charCodeAt(0)) : audio

const formatOf = ({ type, rate }: { readonly type: string; readonly rate?: number }): AudioFormat => {
  switch (type) {
    case 'audio/pcm':
      if (rate === undefined)
        throw new SpeechError('invalid-options', 'inputAudioFormat.rate is missing: the rate of audio/pcm, in Hz.')
      return { encoding: 'pcm', sampleRateHz: rate, channels: 1 }
    case 'audio/pcmu':
      return { encoding: 'ulaw', sampleRateHz: rate ?? 8000, channels: 1 }
    case 'audio/pcma':
      return { encoding: 'alaw', sampleRateHz: rate ?? 8000, channels: 1 }
    default:
      throw new SpeechError(
        'invalid-options',
        `inputAudioFormat.type must be audio/pcm, audio/pcmu or audio/pcma; decode other audio, or pass a WAV file to transcribe.`,
      )
  }
}

const warningsOf = (
  { words, providerMetadata }: TranscriptionSummary,
  { timestampGranularities = [] }: TranscriptionCallOptions,
): TranscriptionWarning[] => {
  const lost = providerMetadata.rxspeech.gaps.filter(({ cause }) => cause !== 'silence')
  const warnings = lost.map(({ fromMs, toMs, cause }): TranscriptionWarning => {
    return { type: 'other', message: `The audio from ${fromMs} to ${toMs} ms has no text (${cause}).` }
  })
  if (!timestampGranularities.includes('word') || words !== undefined) return warnings
  const details = 'The engine of this model has no times of words, or there was no speech.'
  return [...warnings, { type: 'unsupported', feature: 'timestampGranularities', details }]
}
