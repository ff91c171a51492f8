import { requireOptional, resolveOptional } from '../../threads/load-optional.js'

/** One utterance in a recognizer. */
export interface SherpaStream {
  acceptWaveform(sound: { readonly samples: Float32Array; readonly sampleRate: number }): void
  inputFinished(): void
}

/** What was recognized of a stream. The lists have the same length if the model provides them; times are in seconds. */
export interface SherpaResult {
  readonly text: string
  readonly tokens?: readonly string[] | undefined
  readonly timestamps?: readonly number[] | undefined
  /** Natural logarithms of the probabilities of the tokens. */
  readonly ys_probs?: readonly number[] | undefined
}

/** The part of the package's streaming recognizer that is used here. All calls are synchronous. */
export interface SherpaRecognizer {
  createStream(): SherpaStream
  isReady(stream: SherpaStream): boolean
  decode(stream: SherpaStream): void
  getResult(stream: SherpaStream): SherpaResult
}

export interface SherpaPackage {
  readonly OnlineRecognizer: new (config: object) => SherpaRecognizer
}

/** The configuration of the package's recognizer, as far as it is used here. */
export interface SherpaConfig {
  readonly featConfig: { readonly sampleRate: number; readonly featureDim: number }
  readonly modelConfig: {
    readonly transducer?: Readonly<Record<'encoder' | 'decoder' | 'joiner', string>> | undefined
    readonly tokens: string
    readonly provider: string
    readonly numThreads: number
    readonly debug: number
    readonly modelingUnit?: string | undefined
    readonly bpeVocab?: string | undefined
  }
  readonly decodingMethod: string
  readonly maxActivePaths: number
  readonly enableEndpoint: number
  readonly hotwordsFile?: string | undefined
  readonly hotwordsScore?: number | undefined
}

const sherpa = ['sherpa-onnx-node', 'This engine'] as const

/** Throws `missing-dependency` if the package is not installed. Whether its library loads shows when a worker starts. */
export const requireSherpa = (): void => {
  resolveOptional(...sherpa)
}

/** Loads the package and its native library; throws `missing-dependency`. */
export const loadSherpa = (): SherpaPackage => requireOptional(...sherpa) as SherpaPackage

/** What a worker is started with. */
export interface SherpaSettings {
  readonly type: 'rxspeech-sherpa-onnx'
  readonly config: SherpaConfig
  readonly sampleRateHz: number
}

export const isSherpaSettings = (data: unknown): data is SherpaSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-sherpa-onnx'
