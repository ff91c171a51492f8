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

/** Whether a model recognizes the sentences of a grammar only, as far as its `model.json` shows. */
export const isGrammarModel = ({ grammar, phrases, kind }: ModelDescription['options']): boolean =>
  [grammar, phrases].some((file) => typeof file === 'string') || kind === 'grammar'

/**
 * What a model recognizes, as a text for its users: `any English speech`, `99 languages`, `sentences of orders.gram`.
 * It comes from `model.json` alone; nothing is loaded.
 *
 * @example
 * whatItReads({ engine: 'sherpa-onnx', language: 'en' }) // 'any English speech'
 */
export const whatItReads = (options: ModelDescription['options']): string => {
  if (isGrammarModel(options)) {
    const [file = 'a grammar'] = [...textsIn(options['grammar']), ...textsIn(options['phrases'])]
    return `sentences of ${file}`
  }
  const named = textsIn(options['languages'] ?? options['language'])
  const languages = named.filter((language) => language !== 'auto')
  if (languages.length === 0 && named.length > 0) return 'any speech, detects the language'
  if (languages.length > maxNamedLanguages) return `${languages.length} languages`
  return ['any', ...(languages.length === 0 ? [] : [listText.format(languages.map(languageName))]), 'speech'].join(' ')
}
