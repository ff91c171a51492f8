import { access, constants, readFile, realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { decodeText, quoteText } from './decode-text.js'
import type { ModelDescription } from '../engine.js'
import {
  normalizeGrammar,
  phraseGrammar,
  readDictionary,
  readGrammar,
  readPhrases,
  type Pronunciation,
} from './grammar.js'
import { tooLargeGrammar } from './grammar-size.js'
import { parseGrammar } from './jsgf.js'
import { invalidModel } from './model-json.js'

const isInside = (folder: string, path: string): boolean => {
  const fromFolder = relative(folder, path)
  return fromFolder !== '' && fromFolder !== '..' && !fromFolder.startsWith(`..${sep}`) && !isAbsolute(fromFolder)
}

/**
 * The path of a file that `model.json` names under `key`. It must be inside the folder of the model, also after
 * symbolic links are followed. Rejects with `invalid-model` that names the key and the file if it is not, or cannot be
 * read.
 */
export const findModelFile = async (model: ModelDescription, key: string, file: string): Promise<string> => {
  const named = `"${key}" in model.json names ${JSON.stringify(file)}`
  const outside = (): SpeechError => invalidModel(model, `${named}, which is not inside the model's folder.`)
  if (isAbsolute(file) || !isInside(model.folder, resolve(model.folder, file))) throw outside()
  try {
    const [folder, path] = await Promise.all([realpath(model.folder), realpath(resolve(model.folder, file))])
    if (!isInside(folder, path)) throw outside()
    await access(path, constants.R_OK)
    if ((await stat(path)).isFile()) return path
  } catch (error) {
    if (error instanceof SpeechError) throw error
    throw invalidModel(model, `${named}, which cannot be read; put the file there.`, error)
  }
  throw invalidModel(model, `${named}, which is not a file.`)
}

/** The text of a file that `model.json` names under `key`; rejects as `findModelFile` does, and for what is no text. */
export const readModelFile = async (model: ModelDescription, key: string, file: string): Promise<string> =>
  decodeText(await readFile(await findModelFile(model, key, file))) ??
  Promise.reject(invalidModel(model, `${file} is not text in UTF-8; save it as UTF-8.`))

/** A grammar that was checked as far as possible without the dictionary. */
export interface CheckedGrammar {
  readonly jsgf: string
  /** Every word that can be spoken, once. */
  readonly words: readonly string[]
}

const readJsgf = async (model: ModelDescription, key: 'grammar' | 'phrases', file: string): Promise<string> => {
  const text = await readModelFile(model, key, file)
  if (key === 'grammar') return normalizeGrammar(text)
  const { sentences, badLine } = readPhrases(text)
  if (badLine !== undefined) {
    throw invalidModel(model, `${file} line ${badLine.number}: ${quoteText(badLine.text)} is not a word; correct it.`)
  }
  if (sentences.length === 0) throw invalidModel(model, `${file} contains no sentence.`)
  return phraseGrammar(sentences)
}

/** Reads the grammar that `model.json` names under `key`, as JSGF or as phrases. Rejects with `invalid-model`. */
export const readModelGrammar = async (
  model: ModelDescription,
  key: 'grammar' | 'phrases',
  file: string,
): Promise<CheckedGrammar> => {
  const jsgf = await readJsgf(model, key, file)
  const { words, undefinedRules, hasPublicRule } = readGrammar(jsgf)
  if (!hasPublicRule) throw invalidModel(model, `${file} has no public rule; write one as: public <rule> = words;`)
  const excess = tooLargeGrammar(parseGrammar(jsgf))
  if (excess !== undefined) throw invalidModel(model, `${file} ${excess}`)
  if (undefinedRules.length > 0) throw invalidModel(model, `${file} does not define <${undefinedRules.join('>, <')}>.`)
  return { jsgf, words }
}

/** Reads the words that a model adds to its dictionary; none without a file. Rejects with `invalid-model`. */
export const readModelDictionary = async (
  model: ModelDescription,
  file: string | undefined,
): Promise<readonly Pronunciation[]> => {
  if (file === undefined) return []
  const entries = readDictionary(await readModelFile(model, 'dictionary', file))
  if ('badLine' in entries) throw invalidModel(model, `${file} line ${entries.badLine}: a word has no phones.`)
  return entries
}
