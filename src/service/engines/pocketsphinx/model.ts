import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { SpeechError } from '../../../errors/speech-error.js'
import type { ModelDescription } from '../engine.js'
import type { Pronunciation } from '../models/grammar.js'
import { loadDictionary, loadGrammar, type CheckedGrammar } from '../models/grammar-file.js'
import { findModelFile } from '../models/model-files.js'
import { findSoundswallowerModels } from '../soundswallower/soundswallower-models.js'
import { decodePocketsphinxOptions, type PocketsphinxOptions } from './options.js'
import { aptLine } from './native-calls.js'

/** What a decoder searches: sentences of n-grams, or those of a grammar. */
type SphinxSearch =
  | { readonly type: 'languageModel'; readonly path: string; readonly isOwn: boolean }
  | { readonly type: 'grammar'; readonly grammar: CheckedGrammar }

/** A model whose files are there. */
export interface SphinxModel {
  readonly acousticModel: 'narrowband' | 'wideband'
  /** The library's settings, by its names for them. */
  readonly settings: Readonly<Record<string, string>>
  readonly search: SphinxSearch
  /** Words beside those of the dictionary. */
  readonly words: readonly Pronunciation[]
}

/** Where Debian's pocketsphinx-en-us puts its files. */
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
 * Measured: without the second, flat pass and with narrower beams an utterance ends in 34 ms instead of 280.
 * `remove_silence` off keeps the times of words; what is silence, voice activity has decided already.
 */
const searchSettings = { fwdflat: 'no', maxhmmpf: '8000', maxwpf: '20', remove_silence: 'no', remove_noise: 'yes' }

/** What the 8 kHz model was trained with; its package keeps this where the library does not look. */
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
    'The narrowband acoustic model is that of a package: npm install soundswallower.',
  )
  return { hmm: folder, fdict: noises, ...narrowbandFeatures }
}

const wideband = async (folder: string): Promise<Readonly<Record<string, string>>> => {
  const hmm = join(folder, 'en-us')
  await checkFiles(
    [...acousticFiles, 'noisedict', 'feat.params'].map((file) => join(hmm, file)),
    `Dictation needs Debian's packages: ${aptLine}.`,
  )
  return { hmm, samprate: '16000' }
}

const findSearch = async (
  model: ModelDescription,
  { languageModel, grammar, phrases }: PocketsphinxOptions,
  folder: string,
): Promise<SphinxSearch> => {
  if (grammar !== undefined) return { type: 'grammar', grammar: await loadGrammar(model, 'grammar', grammar) }
  if (phrases !== undefined) return { type: 'grammar', grammar: await loadGrammar(model, 'phrases', phrases) }
  if (languageModel !== undefined) {
    const path = await findModelFile(model, 'languageModel', languageModel)
    return { type: 'languageModel', path, isOwn: true }
  }
  return { type: 'languageModel', path: join(folder, 'en-us.lm.bin'), isOwn: false }
}

/**
 * Reads `model.json` and checks every file that it names or needs, before the library is asked: that says of a file that
 * it can't use no more than that there is something. Rejects with `invalid-model` or `missing-dependency`.
 */
export const readSphinxModel = async (model: ModelDescription, folder = debianModels): Promise<SphinxModel> => {
  const options = decodePocketsphinxOptions(model)
  const { acousticModel = 'narrowband', dictionary } = options
  const search = await findSearch(model, options, folder)
  const words = await loadDictionary(model, dictionary)
  const dict = join(folder, 'cmudict-en-us.dict')
  const needed = search.type === 'languageModel' ? [dict, search.path] : [dict]
  await checkFiles(needed, `Dictation needs Debian's packages: ${aptLine}.`)
  const acoustics = acousticModel === 'narrowband' ? await narrowband() : await wideband(folder)
  return { acousticModel, settings: { ...acoustics, dict, ...searchSettings }, search, words }
}
