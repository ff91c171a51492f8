import { either } from 'fp-ts'
import * as t from 'io-ts'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from '../model-files.js'

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
export const soundswallowerOptionsCodec = t.intersection([required, optional])

const expected: { readonly [key in keyof SoundswallowerOptions]-?: string } = {
  engine: '"soundswallower"',
  sampleRateHz: '8000 or 16000',
  grammar: 'the name of a JSGF file',
  phrases: 'the name of a file with one sentence a line',
  language: '"en-us" or "fr-fr"',
  dictionary: 'the name of a file with a word and its phones a line',
  batch: 'true or false',
}
const isKey = (key: string): key is keyof SoundswallowerOptions => Object.hasOwn(expected, key)

/** The model's options, or throws `invalid-model` that names the first key that is wrong, missing or unknown. */
export const decodeSoundswallowerOptions = (model: ModelDescription): SoundswallowerOptions => {
  const unknownKey = Object.keys(model.options).find((key) => !isKey(key))
  if (unknownKey !== undefined) {
    const known = Object.keys(expected).join(', ')
    throw invalidModel(model, `model.json has the unknown key "${unknownKey}"; the keys are ${known}.`)
  }
  const decoded = soundswallowerOptionsCodec.decode(model.options)
  if (either.isLeft(decoded)) {
    const key = decoded.left[0]?.context.map((entry) => entry.key).find(isKey)
    if (key === undefined) throw invalidModel(model, 'model.json must hold a JSON object.')
    throw invalidModel(model, `"${key}" in model.json must be ${expected[key]}.`)
  }
  const { grammar, phrases } = decoded.right
  if ((grammar === undefined) === (phrases === undefined)) {
    throw invalidModel(model, 'model.json must have either "grammar" or "phrases".')
  }
  return decoded.right
}
