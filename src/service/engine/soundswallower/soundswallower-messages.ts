import type { Word } from '../../../protocol/session-event.js'
import type { Pronunciation } from '../grammar.js'

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

/** To the worker, in this order for each segment: `open`, `audio`…, then `close` or `abort`. */
export type ToWorker =
  | { readonly type: 'open'; readonly segment: number; readonly startMs: number }
  /** At most `hopSamples` of one channel at `decoderRateHz`; only the last of a segment is shorter. */
  | { readonly type: 'audio'; readonly segment: number; readonly samples: Int16Array }
  | { readonly type: 'close'; readonly segment: number; readonly endMs: number }
  | { readonly type: 'abort'; readonly segment: number }

/** From the worker: `ready` or `refused` once, then what becomes of the segments. Nothing follows an `abort`. */
export type FromWorker =
  | { readonly type: 'ready' }
  /** The model can't be used; the sentence says why. */
  | { readonly type: 'refused'; readonly sentence: string }
  /** An `audio` message was decoded; `partial` is there when the text changed by it. */
  | { readonly type: 'taken'; readonly segment: number; readonly sampleCount: number; readonly partial?: string }
  /** It reads a segment for the second time, which takes a while. */
  | { readonly type: 'working' }
  | { readonly type: 'decided'; readonly segment: number; readonly words: readonly Word[] }
  | { readonly type: 'failed'; readonly segment: number }
