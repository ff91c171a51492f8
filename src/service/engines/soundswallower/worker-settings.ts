import type { Pronunciation } from '../models/grammar.js'

/** How much audio one message carries and a decoder reads at a time: partials and times don't hang on chunk sizes. */
export const hopSamples = 800
export const decoderRateHz = 8000

/** What a worker is started with. */
export interface WorkerSettings {
  readonly type: 'rxspeech-soundswallower'
  /** The folder of the acoustic models, with its trailing slash. */
  readonly modelBase: string
  readonly language: 'en-us' | 'fr-fr'
  readonly grammar: string
  /** The words of the grammar, to be looked up before it is used. */
  readonly words: readonly string[]
  readonly dictionary: readonly Pronunciation[]
  readonly maxDecoders: number
}
