import { requireOptional, resolveOptional } from '../threads/load-optional.js'
import type { LanguageSetting, SherpaType } from './model-types.js'

/** Audio for a stream: samples from -1 to 1. */
export interface SherpaSound {
  readonly samples: Float32Array
  readonly sampleRate: number
}

/** One utterance in a recognizer. */
export interface SherpaStream {
  acceptWaveform(sound: SherpaSound): void
  inputFinished(): void
  setOption(key: string, value: string): void
}

/** What was recognized of a stream. The lists have the same length if the model provides them; times are in seconds. */
export interface SherpaResult {
  readonly text: string
  readonly tokens?: readonly string[] | undefined
  readonly timestamps?: readonly number[] | undefined
  /** How long each token is. */
  readonly durations?: readonly number[] | undefined
  /** Natural logarithms of the probabilities of the tokens, of a streaming and of an offline recognizer. */
  readonly ys_probs?: readonly number[] | undefined
  readonly ys_log_probs?: readonly number[] | undefined
}

/** The part of the package's streaming recognizer that is used here. All calls are synchronous. */
export interface SherpaRecognizer {
  createStream(): SherpaStream
  isReady(stream: SherpaStream): boolean
  decode(stream: SherpaStream): void
  getResult(stream: SherpaStream): SherpaResult
}

/** The audio of a segment as a whole. */
export type SherpaOfflineStream = Omit<SherpaStream, 'inputFinished'>

/**
 * The same of the offline recognizer. It must have one stream in work at a time, and both must stay reachable
 * meanwhile.
 */
export interface SherpaOfflineRecognizer {
  createStream(hotwords?: string): SherpaOfflineStream
  decodeAsync(stream: SherpaOfflineStream): Promise<SherpaResult>
  setConfig(config: SherpaConfig): void
}

/** Adds punctuation, and some case, to a text. */
export interface SherpaPunctuation {
  addPunct(text: string): string
}

export interface SherpaPackage {
  readonly OnlineRecognizer: new (config: SherpaConfig) => SherpaRecognizer
  readonly OfflineRecognizer: { createAsync(config: SherpaConfig): Promise<SherpaOfflineRecognizer> }
  readonly OnlinePunctuation: new (config: object) => SherpaPunctuation
  readonly OfflinePunctuation: new (config: object) => SherpaPunctuation
}

/**
 * The configuration of the package's recognizers, as far as it is used here. A type of models has its own part of it.
 */
export interface SherpaConfig {
  readonly featConfig?: { readonly sampleRate: number; readonly featureDim: number } | undefined
  readonly modelConfig: {
    readonly [type: string]: unknown
    readonly tokens: string
    readonly provider: string
    readonly numThreads: number
    readonly debug: number
    readonly modelingUnit?: string | undefined
    readonly bpeVocab?: string | undefined
  }
  readonly decodingMethod: string
  readonly maxActivePaths: number
  readonly enableEndpoint?: number | undefined
  readonly hotwordsFile?: string | undefined
  readonly hotwordsScore?: number | undefined
  readonly ruleFsts?: string | undefined
  readonly ruleFars?: string | undefined
}

const sherpa = ['sherpa-onnx-node', 'This engine'] as const

/**
 * Throws `missing-dependency` if the package is not installed. Whether its library loads shows when a worker starts.
 */
export const requireSherpa = (): void => {
  resolveOptional(...sherpa, __filename)
}

/** Loads the package and its native library; throws `missing-dependency`. */
export const loadSherpa = (): SherpaPackage => requireOptional(...sherpa, __filename) as SherpaPackage

/** Why a model is refused that its files do not show to be wrong. */
export const sherpaRefusal = 'sherpa-onnx does not load its files; check that they are whole and belong together.'

/** What a worker is started with. */
export interface SherpaSettings extends Pick<SherpaType, 'key' | 'streaming'> {
  readonly type: 'rxspeech-sherpa-onnx'
  readonly config: SherpaConfig
  readonly sampleRateHz: number
  readonly languageSetting: LanguageSetting
  /** The language of sessions that name none; undefined if the model detects it. */
  readonly language: string | undefined
  readonly tailField: SherpaType['tailField'] | undefined
  /** Silence around the audio. */
  readonly leadMs: number
  readonly tailMs: number
  /** The configuration of a helper that adds punctuation. */
  readonly punctuation: { readonly streaming: boolean; readonly config: object } | undefined
  /** How hotwords are written so that the tokens of the model have their letters. */
  readonly letters: 'lower' | 'upper' | 'both'
  /** A process with more memory than this asks to be replaced. */
  readonly maxProcessBytes: number
}

export const isSherpaSettings = (data: unknown): data is SherpaSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-sherpa-onnx'
