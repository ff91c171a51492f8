import type { ModelDescription } from '../engine.js'

const languageNames = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })

/** `English` for `en`; a code that has no name stays as it is. */
const languageName = (code: string): string => {
  try {
    return languageNames.of(code) ?? code
  } catch {
    return code
  }
}

const listText = new Intl.ListFormat('en', { type: 'conjunction' })

/** More languages are counted. */
const maxNamedLanguages = 3

const textsIn = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === 'string' && item !== '')

/** The files with the sentences of a model; `phrases` of the engine `openai` names a field of its requests. */
const sentenceFiles = ({ engine, grammar, phrases }: ModelDescription['options']): readonly string[] =>
  textsIn(grammar).concat(engine === 'openai' ? [] : textsIn(phrases))

/** Whether a model recognizes the sentences of a grammar only, as far as its `model.json` shows. */
export const isGrammarModel = (options: ModelDescription['options']): boolean =>
  sentenceFiles(options).length > 0 || options['kind'] === 'grammar'

const phraseTakers: Readonly<Record<string, (options: ModelDescription['options']) => boolean>> = {
  soundswallower: () => true,
  openai: ({ phrases }) => phrases !== undefined,
  'sherpa-onnx': ({ decodingMethod, modelingUnit }) =>
    decodingMethod === 'modified_beam_search' && modelingUnit !== undefined,
  ...Object.fromEntries(['vosk', 'remote', 'wyoming'].map((engine) => [engine, () => false])),
}

/**
 * Whether sessions of a model may have phrases, as far as its `model.json` shows: a streaming transducer, which only
 * its files tell, takes none. Undefined for an engine that is not one of this package.
 */
export const takesPhrases = (options: ModelDescription['options']): boolean | undefined =>
  phraseTakers[options.engine]?.(options)

/**
 * What a model recognizes, as a text for its users: `any English speech`, `99 languages`, `sentences of orders.gram`.
 * It comes from `model.json` alone; nothing is loaded.
 *
 * @example
 * whatItReads({ engine: 'sherpa-onnx', language: 'en' }) // 'any English speech'
 */
export const whatItReads = (options: ModelDescription['options']): string => {
  if (isGrammarModel(options)) {
    const [file = 'a grammar'] = sentenceFiles(options)
    return `sentences of ${file}`
  }
  const named = textsIn(options['languages'] ?? options['language'])
  const languages = named.filter((language) => language !== 'auto')
  if (languages.length === 0 && named.length > 0) return 'any speech, detects the language'
  if (languages.length > maxNamedLanguages) return `${languages.length} languages`
  return ['any', ...(languages.length === 0 ? [] : [listText.format(languages.map(languageName))]), 'speech'].join(' ')
}
