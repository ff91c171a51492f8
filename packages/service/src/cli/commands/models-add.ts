import type { AddInput, EngineKind, ModelContent, ModelSource } from 'rxspeech-engines/engine'
import { addModel, checkModelName, copyFiles } from 'rxspeech-engines/models/add-model'
import type { FoundModel } from 'rxspeech-engines/models/model-folders'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { builtInEngines } from '../../start/built-ins.js'
import { modelsPlace, modelsPlaceFlag } from '../input/find-models.js'
import type { CommandCall } from '../parsing/command.js'
import { flag, flagName, switchFlag, type Flag, type Flags, type FlagValues } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { oneOf, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { plainText } from '../view/plain-text.js'

const placeFlags = {
  models: modelsPlaceFlag,
  tenant: flag('<name>', 'its tenant (default: Default)', (typed) => checkModelName('tenant', typed)),
  version: flag('<version>', 'its version (default: the newest plus one)', (typed) => checkModelName('version', typed)),
  batch: switchFlag('audio may come faster than real time'),
  json: jsonFlag,
}

/** A kind of engine whose models can be added. */
interface Source {
  readonly kind: EngineKind
  readonly add: ModelSource
}

const sourcesOf = (kinds: readonly EngineKind[]): readonly Source[] =>
  kinds.flatMap((kind) => (kind.add === undefined ? [] : [{ kind, add: kind.add }]))

const languageFlag = (sources: readonly Source[]): Flag<string | undefined> => {
  const limits = sources.map(({ kind: { presets }, add: { what, languages = [] } }) => {
    const preset = languages.find((language) => language === presets?.['language']) ?? languages[0]
    return preset === undefined ? '' : `; of ${what}: ${languages.join(' or ')} (default: ${preset})`
  })
  return flag('<code>', `the language that it reads, such as de${limits.join('')}`, text)
}

const inputFlag = ({ placeholder, help, choices }: AddInput): Flag<string | boolean | undefined> =>
  placeholder === undefined ? switchFlag(help) : flag(placeholder, help, choices === undefined ? text : oneOf(choices))

/** The flags of these kinds of engines. Throws `invalid-options` for a flag that two kinds have, or the command. */
export const addFlagsOf = (kinds: readonly EngineKind[]) => {
  const sources = sourcesOf(kinds)
  const ownFlags = { ...placeFlags, language: languageFlag(sources) }
  const flags: Record<string, Flag<unknown>> = { ...ownFlags }
  for (const { kind, add } of sources) {
    for (const [name, input] of Object.entries(add.inputs)) {
      if (name in flags) {
        const sentence = `The engine ${kind.name} has the flag ${flagName(name)} of models add, which is taken; rename it.`
        throw new SpeechError('invalid-options', sentence)
      }
      flags[name] = { ...inputFlag(input), group: add.title }
    }
  }
  return flags as typeof ownFlags & Flags
}

/** One model is loaded, once. */
const cpus = 1
const kinds = builtInEngines({}, cpus)
const sources = sourcesOf(kinds)

export const addFlags = addFlagsOf(kinds)

type AddFlags = FlagValues<typeof addFlags>

/** Adds a model once its engine has loaded it: of the files of flags, or of a folder. */
export const addToModels = async (
  { argument: typedFolder, flags, given, host }: CommandCall<typeof addFlags, string | undefined>,
  name: string,
): Promise<FoundModel['model']> => {
  const { models, tenant = 'Default', version, batch } = flags
  const folder = modelsPlace(models, host)
  const { options, files, kind } = await planContent(typedFolder, flags, given)
  const place = { folder, tenant, name: checkModelName('name', name), version }
  try {
    return await addModel(place, copyFiles({ ...options, ...(batch && { batch }) }, files), kind)
  } catch (error) {
    throw isSpeechError(error) && error.code === 'invalid-model' ? inputFault(error, files) : error
  }
}

/** The fault of a file that was typed: the model with its copy is gone. */
const inputFault = (error: SpeechError, files: Content['files']): SpeechError => {
  const sentence = error.message.replace(/^Model \S+: /, '').replace('to "dictionary".', 'with --dictionary FILE.')
  const isNamed = Object.keys(files).some((name) => sentence.includes(name))
  const named = Object.entries(files).reduce((text, [name, typed]) => text.replaceAll(name, () => typed), sentence)
  const [main = ''] = Object.values(files)
  return new SpeechError('source-failed', plainText(isNamed ? named : `${main}: ${named}`))
}

/** What a model consists of, and the engine that loads it. */
interface Content {
  readonly options: FoundModel['model']['options']
  /** The files to copy, by their names in the folder of the model. */
  readonly files: ModelContent['files']
  readonly kind: EngineKind
}

const planContent = async (
  typedFolder: string | undefined,
  flags: AddFlags,
  given: readonly string[],
): Promise<Content> => {
  const { kind, add } = chooseKind(typedFolder, given)
  const refused = given.find((name) => !(name in add.inputs) && !(name in placeFlags) && name !== 'language')
  if (refused !== undefined) throw usageError(`${flagName(refused)} does not fit a model for ${add.what}; omit it.`)
  const { language } = flags
  if (language !== undefined && add.languages !== undefined) oneOf(add.languages)(language, flagName('language'))
  const [first = '', second] = add.sources.filter((name) => given.includes(name))
  if (second !== undefined) throw usageError(`Set either ${flagName(first)} or ${flagName(second)}, not both.`)
  const typed = Object.keys(add.inputs).filter((name) => given.includes(name))
  const inputs = Object.fromEntries(typed.map((name) => [name, String(flags[name])]))
  const folder = typedFolder === undefined ? {} : { [add.sources[0] ?? '']: typedFolder }
  const { options, files } = await add.plan({ ...inputs, ...folder })
  return { options: { engine: kind.name, ...options, ...(language !== undefined && { language }) }, files, kind }
}

/** The kind for the folder or the flags. */
const chooseKind = (typedFolder: string | undefined, given: readonly string[]): Source => {
  const isGiven = ({ add }: Source): boolean => add.sources.some((name) => given.includes(name))
  const ofFolders = sources.filter(({ add }) => add.takesFolder === true)
  const flagged = [...ofFolders, ...sources].find(isGiven)
  const [ofFolder] = ofFolders
  const doubled = ofFolders.find(isGiven)?.add.sources[0]
  if (typedFolder !== undefined && doubled !== undefined) {
    throw usageError(`Name the folder once; omit ${flagName(doubled)}.`)
  }
  const chosen = typedFolder === undefined ? flagged : ofFolder
  if (chosen !== undefined) return chosen
  const flags = sources.flatMap(({ add }) => (add.takesFolder === true ? [] : add.sources.map(flagName)))
  throw usageError(`A model needs a folder, ${flags.join(' or ')}.`)
}
