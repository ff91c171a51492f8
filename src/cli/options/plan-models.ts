import { checkModelName } from '../../service/engine/model-name.js'
import type { NewModel } from '../../service/engine/add-model.js'
import { usageError } from '../process/failure.js'
import { sampleModels } from '../process/package-files.js'
import { choiceFlag, textFlag } from './flag-values.js'

export interface ListModelsFlags {
  readonly models?: readonly string[]
  readonly json?: boolean
}

export interface AddModelFlags {
  readonly grammar?: string
  readonly phrases?: string
  readonly dictionary?: string
  readonly language?: string
  readonly tenant?: string
  readonly version?: string
  readonly batch?: boolean
  readonly models?: string
  readonly json?: boolean
}

/** The folders that are listed: those that are named, else that of the package. */
export const planModelList = ({ models = [] }: ListModelsFlags): readonly string[] =>
  models.length === 0 ? [sampleModels()] : models.map((folder) => textFlag('--models', folder) ?? folder)

const sourceOf = (flags: AddModelFlags): NewModel['source'] => {
  const grammar = textFlag('--grammar', flags.grammar)
  const phrases = textFlag('--phrases', flags.phrases)
  if (grammar !== undefined && phrases === undefined) return { kind: 'grammar', file: grammar }
  if (phrases !== undefined && grammar === undefined) return { kind: 'phrases', file: phrases }
  throw usageError('A model is made of what can be said; give --grammar or --phrases, one of the two.')
}

/** Reads the flags. Throws `invalid-options` with a sentence that says what to give, before anything is written. */
export const planModel = (name: string, flags: AddModelFlags): NewModel => {
  const folder = textFlag('--models', flags.models)
  if (folder === undefined) throw usageError('A model goes into a folder of models; name it with --models.')
  const dictionary = textFlag('--dictionary', flags.dictionary)
  const language = choiceFlag('--language', flags.language, ['en-us', 'fr-fr'])
  return {
    folder,
    tenant: checkModelName('tenant', flags.tenant ?? 'Default'),
    name: checkModelName('name', name),
    ...(flags.version !== undefined && { version: checkModelName('version', flags.version) }),
    source: sourceOf(flags),
    ...(dictionary !== undefined && { dictionary }),
    ...(language !== undefined && { language }),
    ...(flags.batch === true && { batch: true }),
  }
}
