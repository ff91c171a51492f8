// Everything that is wrong with the files of a model, without loading it.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { decodeText, quoteText } from '../models/decode-text.js'
import type { EngineKind, ModelDescription } from '../engine.js'
import { plainWords, readPhrases } from '../models/grammar.js'
import { rootRuleOf, type ModelFault, type Span } from '../models/jsgf.js'
import type { FoundModel } from '../models/model-folders.js'
import { findModelFile } from '../models/model-files.js'
import { modelLabel } from '../models/model-json.js'
import { visitExpansion } from '../models/slots.js'
import { lintGrammar } from './lint-grammar.js'
import { addPronunciations, nearestWords, spelledPronunciation, type Pronunciations } from './pronunciations.js'
import { choicesOf, SoundAlikes } from './sound-alikes.js'

/** A file, and what is wrong with it. */
export interface LintedFile {
  readonly path: string
  readonly text: string
  /** In the order of the text. */
  readonly faults: readonly ModelFault[]
}

/** As for `models add`. */
const maxFileBytes = 4 * 1_048_576
/** Words for which others are suggested; the search takes a tenth of a second for each. */
const maxSuggestions = 30

const start: Span = { from: 0, to: 0 }
const error = (span: Span, message: string): ModelFault => ({ severity: 'error', span, message })

/** The text of a file; a fault in its place if it is too long, or is no text. */
const readText = async (path: string): Promise<{ readonly text: string; readonly fault?: ModelFault }> => {
  try {
    const { size } = await stat(path)
    if (size > maxFileBytes) return { text: '', fault: error(start, `The file is longer than ${maxFileBytes} bytes.`) }
    const text = decodeText(await readFile(path))
    return text === undefined
      ? { text: '', fault: error(start, 'The file is not text in UTF-8; save it as UTF-8.') }
      : { text }
  } catch {
    return { text: '', fault: error(start, 'The file cannot be read.') }
  }
}

const sorted = (faults: readonly ModelFault[]): readonly ModelFault[] =>
  faults.toSorted((a, b) => a.span.from - b.span.from)

/** The content of a model's dictionary, and its faults. */
const lintDictionary = (text: string, known: Pronunciations): readonly ModelFault[] => {
  const phones = new Set(Array.from(known.values(), (ways) => ways.flat()).flat())
  const faults: ModelFault[] = []
  for (const { 0: line, index } of text.matchAll(/[^\n]+/g)) {
    const words = [...line.replace(/(#|;;).*$/, '').matchAll(/\S+/g)]
    const spanOf = (match: RegExpExecArray | undefined): Span => {
      const from = index + (match?.index ?? 0)
      return { from, to: from + (match?.[0].length ?? 0) }
    }
    const [first, ...said] = words
    if (first === undefined) continue
    const word = plainWords(first[0])
    if (said.length === 0) faults.push(error(spanOf(first), `The word ${quoteText(word)} has no phones.`))
    if (known.has(word)) {
      faults.push(
        error(spanOf(first), `"${word}" is in the dictionary already; write another way to say it as ${word}(2).`),
      )
    }
    for (const phone of said) {
      if (phones.size > 0 && !phones.has(phone[0])) {
        faults.push(error(spanOf(phone), `"${phone[0]}" is no phone; there are ${[...phones].toSorted().join(' ')}.`))
      }
    }
  }
  return faults
}

interface SpokenWord {
  readonly word: string
  readonly span: Span
}

/** Each word once, where it is first. */
const unknownWords = (words: Iterable<SpokenWord>, known: Pronunciations): readonly SpokenWord[] => {
  const unknown = new Map<string, SpokenWord>()
  for (const spoken of words) {
    if (!known.has(spoken.word) && !unknown.has(spoken.word)) unknown.set(spoken.word, spoken)
  }
  return [...unknown.values()]
}

const wordFaults = (words: Iterable<SpokenWord>, known: Pronunciations): readonly ModelFault[] =>
  unknownWords(words, known).map(({ word, span }, at) => {
    const missing = `The dictionary lacks ${quoteText(word)}.`
    if (at >= maxSuggestions) return error(span, missing)
    const lower = word.toLowerCase()
    if (known.has(lower)) return error(span, `${missing} It has "${lower}".`)
    const near = nearestWords(word, known)
    const said = spelledPronunciation(word, known)
    const parts = [
      missing,
      ...(near.length === 0 ? [] : [`Near: ${near.join(', ')}.`]),
      ...(said === undefined ? [] : [`A line for "dictionary", to be checked by ear: ${word} ${said}`]),
    ]
    return error(span, parts.join(' '))
  })

const lintJsgf = (text: string, known: Pronunciations | undefined): readonly ModelFault[] => {
  const { grammar, faults } = lintGrammar(text)
  if (known === undefined || rootRuleOf(grammar) === undefined) return faults
  const words: SpokenWord[] = []
  for (const { body } of grammar.rules) {
    visitExpansion(body, (part) => {
      if (part.type === 'word' && !part.isQuoted) words.push({ ...part, word: plainWords(part.word) })
    })
  }
  const alikes = new SoundAlikes(known)
  for (const phrases of choicesOf(grammar)) alikes.compare(phrases)
  return [...faults, ...wordFaults(words, known), ...alikes.faults]
}

const lintPhrases = (text: string, known: Pronunciations | undefined): readonly ModelFault[] => {
  const faults: ModelFault[] = []
  const words: SpokenWord[] = []
  const phrases: { readonly words: readonly string[]; readonly span: Span; readonly alternative: number }[] = []
  for (const { 0: line, index } of text.matchAll(/[^\n]+/g)) {
    const { sentences, badLine } = readPhrases(line)
    const from = index + (/\S/.exec(line)?.index ?? 0)
    const span = { from, to: index + line.replace(/#.*$/, '').trimEnd().length }
    if (badLine !== undefined) faults.push(error(span, `${quoteText(badLine.text)} is not a word.`))
    const [sentence] = sentences
    if (sentence === undefined) continue
    const spoken = sentence.split(' ')
    phrases.push({ words: spoken, span, alternative: phrases.length })
    for (const word of spoken) {
      const at = line.toLowerCase().replaceAll('’', "'").indexOf(word)
      words.push({ word, span: at === -1 ? span : { from: index + at, to: index + at + word.length } })
    }
  }
  if (phrases.length === 0 && faults.length === 0) faults.push(error(start, 'The file contains no sentence.'))
  if (known === undefined) return faults
  const alikes = new SoundAlikes(known)
  alikes.compare(phrases)
  return [...faults, ...wordFaults(words, known), ...alikes.faults]
}

const dictionaries = new Map<string, Promise<string>>()

const readDictionaryFile = (path: string): Promise<string> => {
  const reading = dictionaries.get(path) ?? readFile(path, 'utf8')
  dictionaries.set(path, reading)
  return reading
}

/** Lints the files of one model. */
class ModelLint {
  readonly #model: ModelDescription
  readonly #json: string
  readonly #kind: EngineKind | undefined
  readonly #ownFaults: ModelFault[] = []
  readonly #files: LintedFile[] = []

  constructor(model: ModelDescription, json: string, kinds: readonly EngineKind[]) {
    this.#model = model
    this.#json = json
    this.#kind = kinds.find(({ name }) => name === model.options.engine)
  }

  async run(): Promise<readonly LintedFile[]> {
    this.#lintOptions()
    const known = await this.#readDictionaries()
    await this.#lintFile('grammar', (text) => lintJsgf(text, known))
    await this.#lintFile('phrases', (text) => lintPhrases(text, known))
    const own = { path: join(this.#model.folder, 'model.json'), text: this.#json, faults: sorted(this.#ownFaults) }
    return [own, ...this.#files]
  }

  /** The keys and values of model.json, as the engine will read them. */
  #lintOptions(): void {
    try {
      this.#kind?.lint?.(this.#model)
    } catch (cause) {
      if (!isSpeechError(cause)) throw cause
      const message = cause.message.replace(`Model ${modelLabel(this.#model)}: `, '')
      const [, key = ''] = /"([^"]+)" in model\.json/.exec(message) ?? []
      this.#ownFaults.push(error(this.#spanOf(key), message))
    }
  }

  /** Of a key of model.json. */
  #spanOf(key: string): Span {
    const at = this.#json.indexOf(`"${key}"`)
    return at === -1 ? start : { from: at, to: at + key.length + 2 }
  }

  /** The words of the language and those of the model; undefined if those of the language are not here. */
  async #readDictionaries(): Promise<Pronunciations | undefined> {
    const known = new Map<string, (readonly string[])[]>()
    try {
      const path = this.#kind?.dictionaryOf?.(this.#model)
      if (path === undefined) return undefined
      addPronunciations(await readDictionaryFile(path), known)
    } catch {
      const message = 'The dictionary of the engine is not installed, so words and sounds are not checked.'
      this.#ownFaults.push({ severity: 'warning', span: start, message })
      await this.#lintFile('dictionary', (text) => lintDictionary(text, new Map()))
      return undefined
    }
    await this.#lintFile('dictionary', (text) => {
      const faults = lintDictionary(text, known)
      addPronunciations(plainWords(text), known)
      return faults
    })
    return known
  }

  async #lintFile(
    key: 'grammar' | 'phrases' | 'dictionary',
    lint: (text: string) => readonly ModelFault[],
  ): Promise<void> {
    const file = this.#model.options[key]
    // What is no text is a fault of the options.
    if (typeof file !== 'string' || file === '') return
    const span = this.#spanOf(key)
    try {
      const path = await findModelFile(this.#model, key, file)
      const { text, fault } = await readText(path)
      this.#files.push({ path, text, faults: fault === undefined ? sorted(lint(text)) : [fault] })
    } catch (cause) {
      if (!isSpeechError(cause)) throw cause
      this.#ownFaults.push(error(span, cause.message))
    }
  }
}

/** The files of a model with everything that is wrong with them; loads no engine. */
export const lintModel = async (
  { model, problem }: FoundModel,
  kinds: readonly EngineKind[],
): Promise<readonly LintedFile[]> => {
  const path = join(model.folder, 'model.json')
  const { text, fault } = await readText(path)
  if (fault !== undefined) return [{ path, text, faults: [fault] }]
  if (problem !== undefined) return [{ path, text, faults: [error(start, problem.message)] }]
  return new ModelLint(model, text, kinds).run()
}
