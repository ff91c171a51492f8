import { SpeechError } from '../../../errors/speech-error.js'
import type { ModelDescription } from '../engine.js'
import { badGrammar, unknownPhone, unknownWords } from '../models/grammar-file.js'
import { invalidModel } from '../models/model-files.js'
import { aptLine } from './native-calls.js'
import { SphinxDecoder } from './decoder.js'
import type { DecoderPointer, SphinxLibrary } from './library.js'
import type { SphinxModel } from './model.js'

/** Adds the model's words; gives the first that the library does not take. */
const addWords = (library: SphinxLibrary, decoder: DecoderPointer, { words }: SphinxModel): string | undefined => {
  const refused = words.find(([word, phones], at) => !library.addWord(decoder, word, phones, at === words.length - 1))
  return refused && unknownPhone(refused[0])
}

/** Why the decoder can't take the model, as a sentence; nothing when it can. */
const takeModel = async (
  library: SphinxLibrary,
  decoder: DecoderPointer,
  model: SphinxModel,
): Promise<string | undefined> => {
  const { search } = model
  if (search.type === 'languageModel') {
    // Its words come first: to add one adds it to the language model, too
    if (await library.setLanguageModel(decoder, search.path)) return addWords(library, decoder, model)
    return 'the file that "languageModel" names is no n-gram model, ARPA or binary, that the engine takes.'
  }
  const refused = addWords(library, decoder, model)
  if (refused !== undefined) return refused
  const unknown = search.grammar.words.filter((word) => !library.isKnown(decoder, word))
  if (unknown.length > 0) return unknownWords(unknown)
  return (await library.setGrammar(decoder, search.grammar.jsgf)) ? undefined : badGrammar
}

/** Makes one decoder that has taken the model. Rejects with `invalid-model`, or `missing-dependency`. */
export const makeSphinxDecoder = async (
  library: SphinxLibrary,
  description: ModelDescription,
  model: SphinxModel,
): Promise<SphinxDecoder> => {
  const decoder = await library.make(model.settings)
  if (decoder === undefined) {
    const sentence = `The acoustic model or the dictionary can't be used; install them again: ${aptLine}.`
    throw new SpeechError('missing-dependency', sentence)
  }
  try {
    const refusal = await takeModel(library, decoder, model)
    if (refusal !== undefined) throw invalidModel(description, refusal)
    return new SphinxDecoder(library, decoder)
  } catch (error) {
    library.free(decoder)
    throw error
  }
}
