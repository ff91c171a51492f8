import { createRequire } from 'node:module'
import { SpeechError } from '../../../errors/speech-error.js'

/** One utterance under way in a recognizer. */
export interface SherpaStream {
  acceptWaveform(sound: { readonly samples: Float32Array; readonly sampleRate: number }): void
  inputFinished(): void
}

/** What has been recognized of a stream. The lists are of one length where the model gives them; times are seconds. */
export interface SherpaResult {
  readonly text: string
  readonly tokens?: readonly string[]
  readonly timestamps?: readonly number[]
  /** Natural logarithms of the tokens' probabilities. */
  readonly ys_probs?: readonly number[]
}

/** The part of the package's streaming recognizer that is used here. All calls are synchronous. */
export interface SherpaRecognizer {
  createStream(): SherpaStream
  isReady(stream: SherpaStream): boolean
  decode(stream: SherpaStream): void
  getResult(stream: SherpaStream): SherpaResult
}

export interface SherpaModule {
  readonly OnlineRecognizer: new (config: object) => SherpaRecognizer
}

const packageName = 'sherpa-onnx-node'

const orMissing = <T>(look: () => T): T => {
  try {
    return look()
  } catch (cause) {
    throw new SpeechError('missing-dependency', `This engine needs a package: npm install ${packageName}.`, { cause })
  }
}

/** Throws `missing-dependency` where the package is not there; whether its library loads shows when the worker starts. */
export const requireSherpa = (): void => {
  orMissing(() => createRequire(__filename).resolve(packageName))
}

/** Loads the package and its native library; throws `missing-dependency`. */
export const loadSherpa = (): SherpaModule => orMissing(() => createRequire(__filename)(packageName) as SherpaModule)
