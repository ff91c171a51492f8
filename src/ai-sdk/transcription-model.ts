// The part of the model interface of the AI SDK that a transcription model has, declared here because its versions 3
// (`ai` 6) and 4 (`ai` 7) are in different versions of `@ai-sdk/provider`.
import type { GapCause } from '../protocol/session-event.js'

/** The version of the model interface: `v3` of `ai` 6, `v4` of `ai` 7. */
export type SpecificationVersion = 'v3' | 'v4'

/** A piece of the text with its times. */
export interface TimedText {
  /** The text of the piece. */
  text: string
  /** Its beginning, in seconds from the first sample. */
  startSecond: number
  /** Its end, in seconds from the first sample. */
  endSecond: number
}

/** Something that was asked for and is missing, or that the caller should know. */
export type TranscriptionWarning =
  { type: 'unsupported'; feature: string; details: string } | { type: 'other'; message: string }

/** What every call has. */
export interface TranscriptionCall {
  /** Options by provider: those of `rxspeech` are `RxspeechCallOptions`; those of other providers are ignored. @default {} */
  providerOptions?: Record<string, Record<string, unknown>>
  /** Aborts the session. @default none */
  abortSignal?: AbortSignal
  /** Only `user-agent` is allowed, which the AI SDK adds; it is not sent. @default {} */
  headers?: Record<string, string | undefined>
}

/** A call with a recording. */
export interface TranscriptionCallOptions extends TranscriptionCall {
  /** A WAV file, as bytes or in base64. */
  audio: Uint8Array | string
  /** Not used: the file says what it is. */
  mediaType: string
  /** Segments are always there; words if the engine of the model has them, otherwise a warning says so. @default [] */
  timestampGranularities?: ('word' | 'segment')[]
}

/** What was recognized. */
export interface TranscriptionSummary {
  /** The whole text; one line for each channel. */
  text: string
  /** The definitive pieces, in the order of their beginnings. */
  segments: TimedText[]
  /** The words, if the engine of the model has them. */
  words?: TimedText[]
  /** The language that the options name. */
  language: string | undefined
  /** The duration of the audio. */
  durationInSeconds: number
  /** The seconds of audio. */
  usage: { seconds: number }
  /** Audio that has no result, and why. */
  providerMetadata: { rxspeech: { gaps: { fromMs: number; toMs: number; cause: GapCause }[] } }
}

/** The result of a call with a recording. */
export interface TranscriptionResult extends TranscriptionSummary {
  /** What was asked for and is missing, and audio that has no result. */
  warnings: TranscriptionWarning[]
  /** When the call began, and its model. */
  response: { timestamp: Date; modelId: string }
}

/** A call with live audio. */
export interface TranscriptionStreamOptions extends TranscriptionCall {
  /** The audio without a header: bytes, or text in base64. */
  audio: ReadableStream<Uint8Array | string>
  /** `audio/pcm` (16 bits, little-endian, mono) with its rate in Hz, or `audio/pcmu` or `audio/pcma` at 8000 Hz. */
  inputAudioFormat: { type: string; rate?: number }
  /** Whether the events of the session are parts of the stream, too. @default false */
  includeRawChunks?: boolean
}

/** A part of a stream. A final has the `id` of the partials that it replaces. */
export type TranscriptionStreamPart =
  | { type: 'stream-start'; warnings: TranscriptionWarning[] }
  | {
      type: 'transcript-partial'
      id: string
      text: string
      startSecond?: number
      durationInSeconds?: number
      channelIndex: number
    }
  | {
      type: 'transcript-final'
      id: string
      text: string
      startSecond?: number
      endSecond?: number
      channelIndex: number
    }
  | { type: 'raw'; rawValue: unknown }
  | ({ type: 'finish' } & Omit<TranscriptionSummary, 'language'> & { language?: string })

/** A transcription model of the AI SDK: for `transcribe` and `experimental_streamTranscribe`. */
export interface TranscriptionModel<Version extends SpecificationVersion = 'v4'> {
  /** The version of this interface. */
  readonly specificationVersion: Version
  /** `rxspeech`. */
  readonly provider: string
  /** The name of the model. */
  readonly modelId: string
  /** Recognizes a recording. */
  doGenerate(options: TranscriptionCallOptions): Promise<TranscriptionResult>
  /** Recognizes live audio; only `ai` 7 calls it. */
  doStream(
    options: TranscriptionStreamOptions,
  ): Promise<{ stream: ReadableStream<TranscriptionStreamPart>; response: { timestamp: Date; modelId: string } }>
}
