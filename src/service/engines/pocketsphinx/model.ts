import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import type { TypeOf } from 'io-ts'
import { SpeechError } from '../../../errors/speech-error.js'
import { flag, oneOf, optionsCodec } from '../../../protocol/validation.js'
import type { ModelDescription } from '../engine.js'
import type { Pronunciation } from '../models/grammar.js'
import { findModelFile, readModelDictionary, readModelGrammar, type CheckedGrammar } from '../models/model-files.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { findSoundswallowerModels } from '../soundswallower/package.js'
import { aptCommand } from './native-library.js'

/** `model.json` of this engine. At most one of `languageModel`, `grammar` and `phrases` is present. */
const modelOptions = optionsCodec(
  { engine: oneOf('pocketsphinx') },
  {
    // `narrowband` is for telephone speech at 8 kHz (soundswallower's English model), `wideband` for 16 kHz (Debian's).
    acousticModel: oneOf('narrowband', 'wideband'),
    // Must be the rate of the acoustic model.
    sampleRateHz: oneOf(8000, 16_000),
    languageModel: textOption('the name of an n-gram file, ARPA or binary'),
    grammar: textOption('the name of a JSGF file'),
    phrases: textOption('the name of a file with one sentence per line'),
    dictionary: textOption('the name of a file with a word and its phones per line'),
    // Read by the service.
    batch: flag,
  },
)

/** The sample rate of each acoustic model in Hz. */
export const acousticRateHz = { narrowband: 8000, wideband: 16_000 } as const

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
export const readSphinxOptions = (model: ModelDescription): TypeOf<typeof modelOptions> => {
  const options = decodeModelOptions(model, modelOptions)
  const { acousticModel = 'narrowband', sampleRateHz, languageModel, grammar, phrases } = options
  const rateHz = acousticRateHz[acousticModel]
  if (sampleRateHz !== undefined && sampleRateHz !== rateHz) {
    const fits = `"${acousticModel}" takes ${rateHz}`
    throw invalidModel(model, `"sampleRateHz" in model.json is ${sampleRateHz}, but ${fits}; change one of them.`)
  }
  if ([languageModel, grammar, phrases].filter((file) => file !== undefined).length > 1) {
    throw invalidModel(model, 'model.json may have one of "languageModel", "grammar" and "phrases", not more.')
  }
  return options
}

/** What a decoder searches: sentences of n-grams, or those of a grammar. */
type SphinxSearch =
  | { readonly type: 'languageModel'; readonly path: string }
  | { readonly type: 'grammar'; readonly grammar: CheckedGrammar }

/** A model whose files exist. */
export interface SphinxModel {
  readonly acousticModel: 'narrowband' | 'wideband'
  /** Settings by their names in the library. */
  readonly settings: Readonly<Record<string, string>>
  readonly search: SphinxSearch
  /** Words in addition to those of the dictionary. */
  readonly words: readonly Pronunciation[]
}

/** The folder of Debian's package pocketsphinx-en-us. */
export const debianModels = '/usr/share/pocketsphinx/model/en-us'

const acousticFiles = ['mdef', 'means', 'variances', 'transition_matrices', 'sendump'] as const

const checkFiles = async (paths: readonly string[], sentence: string): Promise<void> => {
  try {
    await Promise.all(paths.map((path) => access(path, constants.R_OK)))
  } catch (cause) {
    throw new SpeechError('missing-dependency', sentence, { cause })
  }
}

/**
 * Measured: without the second, flat pass and with narrower beams a segment is decided in 34 ms instead of 280.
 * `remove_silence` is off because it changes the times of words; voice activity has removed the silence already.
 */
const searchSettings = { fwdflat: 'no', maxhmmpf: '8000', maxwpf: '20', remove_silence: 'no', remove_noise: 'yes' }

/** How the 8 kHz model was trained; its package keeps this where the library does not find it. */
const narrowbandFeatures = {
  samprate: '8000',
  lowerf: '130',
  upperf: '3700',
  nfilt: '20',
  transform: 'dct',
  lifter: '22',
  feat: '1s_c_d_dd',
  svspec: '0-12/13-25/26-38',
  agc: 'none',
  cmn: 'live',
  varnorm: 'no',
}

const narrowband = async (): Promise<Readonly<Record<string, string>>> => {
  const folder = join(findSoundswallowerModels(), 'en-us')
  const noises = join(folder, 'noisedict.txt')
  await checkFiles(
    [noises, ...acousticFiles.map((file) => join(folder, file))],
    'The narrowband acoustic model is that of the package soundswallower, which is incomplete; install rxspeech-service again.',
  )
  return { hmm: folder, fdict: noises, ...narrowbandFeatures }
}

const wideband = async (folder: string): Promise<Readonly<Record<string, string>>> => {
  const hmm = join(folder, 'en-us')
  await checkFiles(
    [...acousticFiles, 'noisedict', 'feat.params'].map((file) => join(hmm, file)),
    `Dictation needs Debian's packages: ${aptCommand}.`,
  )
  return { hmm, samprate: '16000' }
}

const findSearch = async (
  model: ModelDescription,
  { languageModel, grammar, phrases }: TypeOf<typeof modelOptions>,
): Promise<SphinxSearch> => {
  if (grammar !== undefined) return { type: 'grammar', grammar: await readModelGrammar(model, 'grammar', grammar) }
  if (phrases !== undefined) return { type: 'grammar', grammar: await readModelGrammar(model, 'phrases', phrases) }
  if (languageModel === undefined) return { type: 'languageModel', path: join(debianModels, 'en-us.lm.bin') }
  return { type: 'languageModel', path: await findModelFile(model, 'languageModel', languageModel) }
}

/**
 * Reads `model.json` and checks every file that it names or needs, because the library gives no reason when it cannot use a
 * file. Rejects with `invalid-model` or `missing-dependency`.
 */
export const readSphinxModel = async (model: ModelDescription): Promise<SphinxModel> => {
  const options = readSphinxOptions(model)
  const { acousticModel = 'narrowband', dictionary } = options
  const search = await findSearch(model, options)
  const words = await readModelDictionary(model, dictionary)
  const dict = join(debianModels, 'cmudict-en-us.dict')
  const needed = search.type === 'languageModel' ? [dict, search.path] : [dict]
  await checkFiles(needed, `Dictation needs Debian's packages: ${aptCommand}.`)
  const acoustics = acousticModel === 'narrowband' ? await narrowband() : await wideband(debianModels)
  return { acousticModel, settings: { ...acoustics, dict, ...searchSettings }, search, words }
}
