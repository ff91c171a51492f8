import * as t from 'io-ts'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-files.js'
import { decodeModelOptions, type ExpectedOptions } from '../models/model-options.js'

/** What `model.json` says for the engine `pocketsphinx`. At most one of `languageModel`, `grammar` and `phrases`. */
export interface PocketsphinxOptions {
  readonly engine: 'pocketsphinx'
  /**
   * `narrowband` hears telephone speech at 8 kHz (soundswallower's English model), `wideband` 16 kHz (Debian's);
   * `narrowband` when absent.
   */
  readonly acousticModel?: 'narrowband' | 'wideband'
  /** What the acoustic model hears, for whoever wants to state it: 8000 for narrowband, 16000 for wideband. */
  readonly sampleRateHz?: 8000 | 16000
  /** A file with an n-gram model, ARPA or binary; Debian's trigrams of general English when absent. */
  readonly languageModel?: string
  /** A file in the JSpeech Grammar Format, with one public rule, in place of the language model. */
  readonly grammar?: string
  /** A file of sentences, one a line, in place of the language model. */
  readonly phrases?: string
  /** A file of words that the dictionary does not have: a word and its phones on each line. */
  readonly dictionary?: string
  /** Whether audio may come faster than real time; read by the service. */
  readonly batch?: boolean
}

const pocketsphinxOptionsCodec = t.intersection([
  t.type({ engine: t.literal('pocketsphinx') }),
  t.partial({
    acousticModel: t.keyof({ narrowband: null, wideband: null }),
    sampleRateHz: t.union([t.literal(8000), t.literal(16000)]),
    languageModel: t.string,
    grammar: t.string,
    phrases: t.string,
    dictionary: t.string,
    batch: t.boolean,
  }),
])

const expected: ExpectedOptions<PocketsphinxOptions> = {
  engine: '"pocketsphinx"',
  acousticModel: '"narrowband" or "wideband"',
  sampleRateHz: '8000 or 16000',
  languageModel: 'the name of an n-gram file, ARPA or binary',
  grammar: 'the name of a JSGF file',
  phrases: 'the name of a file with one sentence a line',
  dictionary: 'the name of a file with a word and its phones a line',
  batch: 'true or false',
}

/** What each acoustic model hears. */
export const acousticRateHz = { narrowband: 8000, wideband: 16000 } as const

/** The model's options, or throws `invalid-model` that names the first key that is wrong, unknown or does not fit. */
export const decodePocketsphinxOptions = (model: ModelDescription): PocketsphinxOptions => {
  const options = decodeModelOptions<PocketsphinxOptions>(model, pocketsphinxOptionsCodec, expected)
  const { acousticModel = 'narrowband', sampleRateHz, languageModel, grammar, phrases } = options
  const rateHz = acousticRateHz[acousticModel]
  if (sampleRateHz !== undefined && sampleRateHz !== rateHz) {
    const fits = `"${acousticModel}" hears ${rateHz}`
    throw invalidModel(model, `"sampleRateHz" in model.json is ${sampleRateHz}, but ${fits}; change one of them.`)
  }
  if ([languageModel, grammar, phrases].filter((file) => file !== undefined).length > 1) {
    throw invalidModel(model, 'model.json may have one of "languageModel", "grammar" and "phrases", not more.')
  }
  return options
}
