import { basename } from 'node:path'
import { catalogue, type CatalogueModel } from './catalogue-table.js'

/**
 * Licences under which anyone may use, change and pass on the weights, with their names or the same licence at most.
 */
const openLicences: readonly (string | undefined)[] = ['Apache-2.0', 'CC-BY-4.0', 'CC-BY-SA-4.0', 'MIT', 'OpenMDW-1.1']

/** Whether a licence has to be confirmed: it has further conditions, or it is unknown. */
export const isRestrictive = (licence: string | undefined): boolean => !openLicences.includes(licence)

/** How archives end. */
export const archiveEnding = '.tar.bz2'

/** The files of a model that are kept. A part without an ending is a folder, whose files are among the others. */
export const filesOf = ({ layout: { parts, tokens, others = [] } }: CatalogueModel): readonly string[] => [
  ...Object.values(parts).filter((part) => part.includes('.')),
  ...(tokens === undefined ? [] : [tokens]),
  ...others,
]

export const modelNamed = (name: string): CatalogueModel | undefined => catalogue.find((model) => model.name === name)

/** The model whose archive has the name of a file, such as the last part of an address. */
export const modelOfArchive = (file: string): CatalogueModel | undefined =>
  catalogue.find(({ archive }) => `${archive}${archiveEnding}` === basename(file))

const englishNames = new Intl.DisplayNames(['en'], { type: 'language' })

/** The codes of a model's languages; empty if it has more than are listed. */
export const languagesOf = ({ languages }: Pick<CatalogueModel, 'languages'>): readonly string[] =>
  languages === '*' ? [] : languages.split(' ')

/** What the model reads, as a text for users. */
export const readsWhat = (model: Pick<CatalogueModel, 'languages'>): string => {
  const codes = languagesOf(model)
  if (codes.length === 0) return 'over 1,000 languages'
  const names = codes.map((code) => englishNames.of(code) ?? code)
  if (codes.length > 30) return `${codes.length} languages`
  return names.length > 4 ? `${names.length} languages: ${names.join(', ')}` : names.join(', ')
}

/** The codes of all languages by their English names in lower case. */
const codesByName = new Map(
  catalogue.flatMap(languagesOf).map((code) => [(englishNames.of(code) ?? code).toLowerCase(), code]),
)

/**
 * Whether a word is a language of the model, as a code or in English, or the beginning of a part of its name or type.
 */
const isAbout = (model: CatalogueModel, word: string): boolean => {
  const codes = languagesOf(model)
  const code = codesByName.get(word) ?? word
  // Of more than are listed: any code that is one.
  const isLanguage =
    codes.length > 0 ? codes.includes(code) : /^[a-z]{2,3}$/.test(code) && englishNames.of(code) !== code
  const parts = `${model.name} ${model.type} ${model.licence ?? 'unknown'} ${model.isLive ? 'live' : ''}`.toLowerCase()
  // Two letters are a language, and the beginning of many names.
  return isLanguage || (word.length > 2 && parts.split(/[\s-]/).some((part) => part.startsWith(word)))
}

/** The models to which all words apply, in the order of the catalogue; all models without words. */
export const searchCatalogue = (words: readonly string[]): readonly CatalogueModel[] =>
  catalogue.filter((model) => words.every((word) => isAbout(model, word.toLowerCase())))
