import { quoteText } from './decode-text.js'

/** What a grammar in the JSpeech Grammar Format (JSGF 1.0) consists of, as far as it is checked here. */
export interface GrammarParts {
  /** Every word that can be spoken, once. */
  readonly words: readonly string[]
  /** Rules that are used and not defined. */
  readonly undefinedRules: readonly string[]
  readonly hasPublicRule: boolean
}

/** Comments, tags in braces, weights between slashes, and the header: they contain no words. */
const withoutSpokenText = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|\{(?:\\.|[^}\\])*\}|\/[\d.eE+-]+\/|^\s*#JSGF[^;]*;/g
const tagOrText = /\{(?:\\.|[^}\\])*\}|[^{]+/g
const token = /<([^>]*)>|[^\s<>()[\]|*+=;"]+|[=;]/g
const builtInRules = ['NULL', 'VOID']

/** Words as dictionaries have them: composed (Unicode NFC), with plain apostrophes and hyphens. */
export const plainWords = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[\u2019\u02bc]/g, "'")
    .replaceAll(/[\u2010\u2011]/g, '-')

/** A grammar with plain words; its tags are only composed. */
export const normalizeGrammar = (jsgf: string): string =>
  jsgf.replaceAll(tagOrText, (part) => (part.startsWith('{') ? part.normalize('NFC') : plainWords(part)))

/** Reads the words and rules of a grammar. Accepts any text: one that is not a grammar has no public rule. */
export const readGrammar = (jsgf: string): GrammarParts => {
  const words = new Set<string>()
  const used = new Set<string>()
  const defined = new Set<string>(builtInRules)
  let hasPublicRule = false
  // A statement is `grammar name`, `import <…>` or `[public] <rule> = …`.
  for (const statement of jsgf.replaceAll(withoutSpokenText, ' ').split(';')) {
    const [, isPublic, rule, body] = /^\s*(public\s+)?<([^>]*)>\s*=([\s\S]*)$/.exec(statement) ?? []
    if (rule === undefined || body === undefined) continue
    hasPublicRule ||= isPublic !== undefined
    defined.add(rule)
    for (const [text, reference] of body.matchAll(token)) {
      if (reference !== undefined) used.add(reference)
      else words.add(text)
    }
  }
  return { words: [...words], undefinedRules: [...used].filter((rule) => !defined.has(rule)), hasPublicRule }
}

export interface Phrases {
  readonly sentences: readonly string[]
  /** The first line with something that cannot be a word, counted from 1. */
  readonly badLine?: { readonly number: number; readonly text: string } | undefined
}

const wordPattern = /^[\p{L}\p{M}\p{N}'.-]+$/u

/** The words of a sentence. Letter case and punctuation at the end of a word are ignored. */
export const wordsOf = (sentence: string): readonly string[] =>
  plainWords(sentence.toLowerCase())
    .split(/\s+/)
    .flatMap((part) => withoutFinalMarks(part) || [])

/** A loop, because a regular expression for it takes the square of the length of a run of marks. */
const withoutFinalMarks = (part: string): string => {
  let end = part.length
  while (end > 0 && finalMarks.includes(part.charAt(end - 1))) end -= 1
  return part.slice(0, end)
}

const finalMarks = ',.!?;:'

export const isWord = (text: string): boolean => wordPattern.test(text)

/** Reads sentences, one per line, as `wordsOf` does; `#` starts a comment. */
export const readPhrases = (text: string): Phrases => {
  const sentences = new Set<string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const words = wordsOf(line.replace(/#.*$/, ''))
    const bad = words.find((word) => !isWord(word))
    if (bad !== undefined) return { sentences: [], badLine: { number: index + 1, text: bad } }
    if (words.length > 0) sentences.add(words.join(' '))
  }
  return { sentences: [...sentences] }
}

/** A grammar that accepts exactly one of the sentences. */
export const phraseGrammar = (sentences: readonly string[]): string =>
  `#JSGF V1.0;\ngrammar phrases;\npublic <phrase> =\n  ${sentences.join('\n| ')};\n`

/** A word that the dictionary lacks, with its phones. */
export type Pronunciation = readonly [word: string, phones: string]

/**
 * Reads lines of the form `word PH PH …`; `#` and `;;` start a comment. Returns the number of the first line without
 * phones if there is one.
 */
export const readDictionary = (text: string): readonly Pronunciation[] | { readonly badLine: number } => {
  const entries: Pronunciation[] = []
  for (const [index, line] of plainWords(text).split(/\r?\n/).entries()) {
    const [word, ...phones] = line
      .replace(/(#|;;).*$/, '')
      .trim()
      .split(/\s+/)
    if (!word) continue
    if (phones.length === 0) return { badLine: index + 1 }
    entries.push([word, phones.join(' ')])
  }
  return entries
}

// Why a decoder refuses a grammar or a dictionary, as sentences. They are here because workers need them, too.

export const unknownWords = (words: readonly string[]): string => {
  const named = words.slice(0, 20).map(quoteText)
  return `the dictionary lacks ${named.join(', ')}; add what is missing to "dictionary".`
}

export const unknownPhone = (word: string): string =>
  `the dictionary's word "${word}" has an unknown phone, or is known already: write a variant as word(2).`

export const badGrammar =
  'the grammar is not JSGF that the engine accepts; check its brackets and that rules refer to themselves only at their end.'
