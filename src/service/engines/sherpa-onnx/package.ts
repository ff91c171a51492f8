import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Koffi from 'koffi'
import { missing, requireOptional, resolveOptional } from '../../threads/load-optional.js'

/** One utterance in a recognizer. */
export interface SherpaStream {
  /** What the native library knows it by. */
  readonly handle: unknown
  acceptWaveform(sound: { readonly samples: Float32Array; readonly sampleRate: number }): void
  inputFinished(): void
  /** Frees it at once. @default the garbage collection does */
  free?(): void
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
  /** Only a recognizer for phrases of sessions gets some. */
  createStream(phrases?: readonly string[]): SherpaStream
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

const koffi = ['koffi', '"sessionPhrases" in model.json'] as const

/** Throws `missing-dependency` if a package is not installed. Whether its library loads shows when a worker starts. */
export const requireSherpa = (withPhrases: boolean): void => {
  resolveOptional(...sherpa)
  if (withPhrases) resolveOptional(...koffi)
}

/** Loads the package and its native library; throws `missing-dependency`. */
export const loadSherpa = (): SherpaPackage => requireOptional(...sherpa) as SherpaPackage

/** The package with the library for this machine. */
export const sherpaPlatform = `sherpa-onnx-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

/** As much as the main thread of a process has, for which the library is made; koffi's default is 2 MiB. */
const stackBytes = 8 * 1024 * 1024

/** Loads the library itself, whose functions are those of its C interface. Throws `missing-dependency`. */
export const loadSherpaLibrary = (): { readonly koffi: typeof Koffi; readonly library: Koffi.LibraryHandle } => {
  const loaded = requireOptional(...koffi) as typeof Koffi
  loaded.config({ sync_stack_size: stackBytes })
  const name = { win32: 'sherpa-onnx-c-api.dll', darwin: 'libsherpa-onnx-c-api.dylib' }[process.platform as string]
  const { resolve } = createRequire(resolveOptional(...sherpa))
  try {
    const folder = dirname(resolve(`${sherpaPlatform}/package.json`))
    return { koffi: loaded, library: loaded.load(join(folder, name ?? 'libsherpa-onnx-c-api.so')) }
  } catch (cause) {
    throw missing(sherpaPlatform, koffi[1], cause)
  }
}

/** What a worker is started with. */
export interface SherpaSettings {
  readonly type: 'rxspeech-sherpa-onnx'
  readonly config: SherpaConfig
  readonly sampleRateHz: number
  /** Whether sessions have phrases. */
  readonly phrases: boolean
}

export const isSherpaSettings = (data: unknown): data is SherpaSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-sherpa-onnx'
