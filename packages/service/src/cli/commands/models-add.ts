import type { AddInput, EngineKind, ModelContent } from 'rxspeech-engines/engine'
import { addModel, checkModelName, copyFiles } from 'rxspeech-engines/models/add-model'
import type { FoundModel } from 'rxspeech-engines/models/model-folders'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { builtInEngines } from '../../start/built-ins.js'
import type { CommandCall } from '../parsing/command.js'
import { flag, flagName, switchFlag, type Flag, type Flags, type FlagValues } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { oneOf, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { plainText } from '../view/plain-text.js'

const placeFlags = {
  models: flag('<dir>', 'the folder of models to add it to', text),
  tenant: flag('<name>', 'its tenant (default: Default)', (typed) => checkModelName('tenant', typed)),
  version: flag('<version>', 'its version (default: the newest plus one)', (typed) => checkModelName('version', typed)),
  batch: switchFlag('audio may come faster than real time'),
  json: jsonFlag,
}

const languageFlags = {
  language: flag('<code>', 'of a grammar or phrases: en-us or fr-fr (default: en-us); of a folder: such as de', text),
}

/** One model is loaded, once. */
const cpus = 1
/** The kinds of engines whose models can be added. */
const sources = builtInEngines({}, cpus).flatMap((kind) => (kind.add === undefined ? [] : [{ kind, add: kind.add }]))

const inputFlag = ({ placeholder, help, choices }: AddInput): Flag<string | boolean | undefined> =>
  placeholder === undefined ? switchFlag(help) : flag(placeholder, help, choices === undefined ? text : oneOf(choices))

const inputFlags: Flags = Object.fromEntries(
  sources.flatMap(({ add: { title, inputs } }) =>
    Object.entries(inputs).map(([name, input]) => [name, { ...inputFlag(input), group: title }]),
  ),
)

const ownFlags = { ...placeFlags, ...languageFlags }
export const addFlags: typeof ownFlags & Flags = { ...ownFlags, ...inputFlags }

type AddFlags = FlagValues<typeof addFlags>

/** Adds a model once its engine has loaded it: of the files of flags, or of a folder. */
export const addToModels = async (
  { argument: typedFolder, flags, given }: CommandCall<typeof addFlags, string | undefined>,
  name: string,
): Promise<FoundModel['model']> => {
  const { models: folder, tenant = 'Default', version, batch } = flags
  if (folder === undefined) throw usageError('A model needs a folder of models; set it with --models.')
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
  const refused = given.find((name) => !(name in add.inputs) && !(name in ownFlags))
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
const chooseKind = (typedFolder: string | undefined, given: readonly string[]): (typeof sources)[number] => {
  const isGiven = ({ add }: (typeof sources)[number]): boolean => add.sources.some((name) => given.includes(name))
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
