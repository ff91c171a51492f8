/** What a grammar in the JSpeech Grammar Format (JSGF 1.0) is made of, read as far as it has to be checked. */
export interface GrammarParts {
  /** Every word that can be spoken, once. */
  readonly words: readonly string[]
  /** Rules that are used and defined nowhere: the engine would fall over them. */
  readonly undefinedRules: readonly string[]
  readonly hasPublicRule: boolean
}

/** Comments, tags in braces, weights between slashes, and the header: no words are in them. */
const withoutSpokenText = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|\{(?:\\.|[^}\\])*\}|\/[\d.eE+-]+\/|^\s*#JSGF[^;]*;/g
const token = /<([^>]*)>|[^\s<>()[\]|*+=;"]+|[=;]/g
const builtInRules = new Set(['NULL', 'VOID'])

/** One statement of a grammar: `grammar name`, `import <…>` or `[public] <rule> = …`. */
const readStatement = (statement: string, words: Set<string>, used: Set<string>, defined: Set<string>): boolean => {
  const [, isPublic, rule, body] = /^\s*(public\s+)?<([^>]*)>\s*=([\s\S]*)$/.exec(statement) ?? []
  if (rule === undefined || body === undefined) return false
  defined.add(rule)
  for (const [text, reference] of body.matchAll(token)) {
    if (reference !== undefined) used.add(reference)
    else words.add(text)
  }
  return isPublic !== undefined
}

/** Reads a grammar's words and rules. It takes any text: what is no grammar has no public rule. */
export const readGrammar = (jsgf: string): GrammarParts => {
  const words = new Set<string>()
  const used = new Set<string>()
  const defined = new Set<string>(builtInRules)
  const statements = jsgf.replaceAll(withoutSpokenText, ' ').split(';')
  const publicRules = statements.map((statement) => readStatement(statement, words, used, defined)).filter(Boolean)
  const undefinedRules = [...used].filter((rule) => !defined.has(rule))
  return { words: [...words], undefinedRules, hasPublicRule: publicRules.length > 0 }
}

export interface Phrases {
  readonly sentences: readonly string[]
  /** The first line that holds something that can't be a word, counted from 1. */
  readonly badLine?: { readonly number: number; readonly text: string }
}

const word = /^[\p{L}\p{M}\p{N}'’.-]+$/u

/** Reads sentences, one a line, without letter case; `#` opens a comment, punctuation at a word's end is left out. */
export const readPhrases = (text: string): Phrases => {
  const sentences = new Set<string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const plain = line.replace(/#.*$/, '').toLowerCase()
    const words = plain.split(/\s+/).flatMap((part) => part.replace(/[,.!?;:]+$/, '') || [])
    const bad = words.find((one) => !word.test(one))
    if (bad !== undefined) return { sentences: [], badLine: { number: index + 1, text: bad } }
    if (words.length > 0) sentences.add(words.join(' ').replaceAll('’', "'"))
  }
  return { sentences: [...sentences] }
}

/** A grammar that takes exactly one of the sentences. */
export const phraseGrammar = (sentences: readonly string[]): string =>
  `#JSGF V1.0;\ngrammar phrases;\npublic <phrase> =\n  ${sentences.join('\n| ')};\n`

/** A word that the dictionary lacks, with its phones. */
export type Pronunciation = readonly [word: string, phones: string]

/** Reads `word PH PH …` lines; `#` and `;;` open a comment. Gives the number of the first line without phones instead. */
export const readDictionary = (text: string): readonly Pronunciation[] | { readonly badLine: number } => {
  const entries: Pronunciation[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [name, ...phones] = line
      .replace(/(#|;;).*$/, '')
      .trim()
      .split(/\s+/)
    if (!name) continue
    if (phones.length === 0) return { badLine: index + 1 }
    entries.push([name, phones.join(' ')])
  }
  return entries
}
