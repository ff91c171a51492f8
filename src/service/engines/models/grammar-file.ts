import type { ModelDescription } from '../engine.js'
import { phraseGrammar, readDictionary, readGrammar, readPhrases, type Pronunciation } from './grammar.js'
import { invalidModel, readModelFile } from './model-files.js'

/** A grammar that was checked as far as it can be without the dictionary. */
export interface CheckedGrammar {
  readonly jsgf: string
  /** Every word that can be spoken, once. */
  readonly words: readonly string[]
}

const loadJsgf = async (model: ModelDescription, key: 'grammar' | 'phrases', file: string): Promise<string> => {
  const text = await readModelFile(model, key, file)
  if (key === 'grammar') return text
  const { sentences, badLine } = readPhrases(text)
  if (badLine !== undefined) {
    throw invalidModel(model, `${file} line ${badLine.number}: ${JSON.stringify(badLine.text)} is no word.`)
  }
  if (sentences.length === 0) throw invalidModel(model, `${file} holds no sentence.`)
  return phraseGrammar(sentences)
}

/** The grammar that `model.json` names under `key`, as JSGF or as phrases. Rejects with `invalid-model`. */
export const loadGrammar = async (
  model: ModelDescription,
  key: 'grammar' | 'phrases',
  file: string,
): Promise<CheckedGrammar> => {
  const jsgf = await loadJsgf(model, key, file)
  const { words, undefinedRules, hasPublicRule } = readGrammar(jsgf)
  if (!hasPublicRule) throw invalidModel(model, `${file} has no public rule; write one as: public <rule> = words;`)
  if (undefinedRules.length > 0) throw invalidModel(model, `${file} does not define <${undefinedRules.join('>, <')}>.`)
  return { jsgf, words }
}

/** The words that the model adds to its dictionary; none without a file. Rejects with `invalid-model`. */
export const loadDictionary = async (
  model: ModelDescription,
  file: string | undefined,
): Promise<readonly Pronunciation[]> => {
  if (file === undefined) return []
  const entries = readDictionary(await readModelFile(model, 'dictionary', file))
  if ('badLine' in entries) throw invalidModel(model, `${file} line ${entries.badLine}: a word has no phones.`)
  return entries
}

/** Why a model with these words can't be used, as a sentence. */
export const unknownWords = (unknown: readonly string[]): string => {
  const named = unknown.slice(0, 20).map((word) => `"${word}"`)
  return `the dictionary lacks ${named.join(', ')}; add what is missing to "dictionary".`
}
export const unknownPhone = (word: string): string =>
  `the dictionary's word "${word}" has an unknown phone, or is known: write a variant as word(2).`
export const badGrammar =
  'the grammar is no JSGF that the engine takes; check its brackets and that rules only recur at their end.'
