import * as t from 'io-ts'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-files.js'
import { decodeModelOptions, type ExpectedOptions } from '../models/model-options.js'

/** What `model.json` says for the engine `soundswallower`. Exactly one of `grammar` and `phrases` is there. */
export interface SoundswallowerOptions {
  readonly engine: 'soundswallower'
  /** Samples a second of the audio that the model is meant for, in Hz; 8000 when absent. The engine itself always hears 8000. */
  readonly sampleRateHz?: 8000 | 16000
  /** A file in the JSpeech Grammar Format, with one public rule. */
  readonly grammar?: string
  /** A file of sentences, one a line; `#` opens a comment. */
  readonly phrases?: string
  /** The acoustic model and its dictionary; `en-us` when absent. */
  readonly language?: 'en-us' | 'fr-fr'
  /** A file of words that the dictionary does not have: a word and its phones on each line. */
  readonly dictionary?: string
  /** Whether audio may come faster than real time; read by the service. */
  readonly batch?: boolean
}

const required = t.type({
  engine: t.literal('soundswallower'),
})
const optional = t.partial({
  sampleRateHz: t.union([t.literal(8000), t.literal(16000)]),
  grammar: t.string,
  phrases: t.string,
  language: t.keyof({ 'en-us': null, 'fr-fr': null }),
  dictionary: t.string,
  batch: t.boolean,
})
const soundswallowerOptionsCodec = t.intersection([required, optional])

const expected: ExpectedOptions<SoundswallowerOptions> = {
  engine: '"soundswallower"',
  sampleRateHz: '8000 or 16000',
  grammar: 'the name of a JSGF file',
  phrases: 'the name of a file with one sentence a line',
  language: '"en-us" or "fr-fr"',
  dictionary: 'the name of a file with a word and its phones a line',
  batch: 'true or false',
}

/** The model's options, or throws `invalid-model` that names the first key that is wrong, missing or unknown. */
export const decodeSoundswallowerOptions = (model: ModelDescription): SoundswallowerOptions => {
  const options = decodeModelOptions<SoundswallowerOptions>(model, soundswallowerOptionsCodec, expected)
  if ((options.grammar === undefined) === (options.phrases === undefined)) {
    throw invalidModel(model, 'model.json must have either "grammar" or "phrases".')
  }
  return options
}
