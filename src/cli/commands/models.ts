import type { Command } from 'commander'
import { addModel, checkModelName, type NewModel } from '../../service/engines/models/add-model.js'
import type { FoundModel } from '../../service/engines/models/model-folders.js'
import { findModels } from '../../service/engines/models/model-registry.js'
import { soundswallower } from '../../service/engines/soundswallower/soundswallower.js'
import { builtInEngines } from '../../service/start/models-and-projects.js'
import {
  defineCommand,
  defineCommandGroup,
  refuseUnknownSubcommands,
  type CommandCall,
  type CommandContext,
} from '../parsing/command.js'
import { flag, repeatedFlag, switchFlag, type FlagValues } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { oneOf, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { sampleModels } from '../process/package-files.js'
import { tableText } from '../view/plain-text.js'

const listFlags = {
  models: repeatedFlag(
    '<dir>',
    'models, <tenant>/<name>/<version>/model.json; may be repeated (default: those of the package)',
    text,
  ),
  json: jsonFlag,
}

const addFlags = {
  grammar: flag('<file>', 'a grammar in the JSpeech Grammar Format, with one public rule', text),
  phrases: flag('<file>', 'sentences, one per line', text),
  models: flag('<dir>', 'the folder of models to add it to', text),
  tenant: flag('<name>', 'its tenant (default: Default)', (typed) => checkModelName('tenant', typed)),
  version: flag('<version>', 'its version (default: the newest plus one)', (typed) => checkModelName('version', typed)),
  dictionary: flag('<file>', 'words that the dictionary lacks: a word and its phones per line', text),
  language: flag('<name>', 'en-us or fr-fr (default: en-us)', oneOf(['en-us', 'fr-fr'])),
  batch: switchFlag('audio may come faster than real time'),
  json: jsonFlag,
}

/** `rxspeech models`. */
export const addModels = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description:
      'Lists the models of folders, and creates models from grammars and phrase lists. A service finds them when it starts.',
    examples: [
      ['rxspeech models --models ./models', 'list the models and their faults'],
      ['rxspeech models add orders --phrases orders.txt --models ./models', 'a model of sentences, one per line'],
    ],
  })
  refuseUnknownSubcommands(command)
  const list = command.command('list', { isDefault: true })
  defineCommand(list.summary('list the models of folders; the same as models without a command'), context, {
    flags: listFlags,
    run: listModels,
  })
  defineCommand(command.command('add').summary('create a model from a grammar or from phrases'), context, {
    description:
      'Creates a model for the embedded engine. It is added only after the engine has loaded it; no model is overwritten.',
    argument: ['<name>', 'what clients call it: letters, digits, ".", "_" and "-"'],
    flags: addFlags,
    run: addToModels,
  })
}

/** The models of the folders, and their faults. Nothing is loaded. */
const listModels = ({ flags: { models, json }, host, output }: CommandCall<typeof listFlags, undefined>): void => {
  const found = findModels({
    folders: models.length === 0 ? [sampleModels()] : models,
    kinds: builtInEngines(host.env),
  })
  output.write(json ? `${JSON.stringify(found.map(modelJson))}\n` : modelTable(found))
}

/** Adds a model once the engine has loaded it. */
const addToModels = async ({ argument: name, flags, output }: CommandCall<typeof addFlags, string>): Promise<void> => {
  const model = await addModel(planModel(name, flags), soundswallower({ workers: 1, decodersPerWorker: 1 }))
  output.write(
    flags.json
      ? `${JSON.stringify(modelJson({ model }))}\n`
      : `The model ${model.tenant}/${model.name}/${model.version} is in ${model.folder}.\n`,
  )
}

const planModel = (name: string, flags: FlagValues<typeof addFlags>): NewModel => {
  const { models: folder, tenant = 'Default', version, dictionary, language, batch } = flags
  if (folder === undefined) throw usageError('A model needs a folder of models; set it with --models.')
  return {
    folder,
    tenant,
    name: checkModelName('name', name),
    source: sourceOf(flags),
    batch,
    version,
    dictionary,
    language,
  }
}

const sourceOf = ({ grammar, phrases }: FlagValues<typeof addFlags>): NewModel['source'] => {
  if (grammar !== undefined && phrases === undefined) return { kind: 'grammar', file: grammar }
  if (phrases !== undefined && grammar === undefined) return { kind: 'phrases', file: phrases }
  throw usageError('A model needs a grammar or phrases; set either --grammar or --phrases.')
}

const stringOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null

/** The public part of `model.json`; the rest may name the locations of secrets. */
const modelJson = ({ model, problem }: FoundModel) => {
  const { tenant, name, version, folder, options } = model
  const isEmbedded = options.engine === 'soundswallower'
  const rate = options['sampleRateHz'] ?? (isEmbedded ? 8000 : null)
  const language = stringOf(options['language']) ?? (isEmbedded ? 'en-us' : null)
  return {
    tenant,
    name,
    version,
    engine: options.engine === '' ? null : options.engine,
    sampleRateHz: typeof rate === 'number' ? rate : null,
    languages: language === null ? [] : [language],
    folder,
    problem: problem?.message ?? null,
  }
}

const titles = ['TENANT', 'NAME', 'VERSION', 'ENGINE', 'RATE', 'LANGUAGES', 'PROBLEM']

/** A line for each model below a line of titles; only the titles if there is none. */
const modelTable = (models: readonly FoundModel[]): string => {
  const rows = models.map((found) => {
    const { tenant, name, version, engine, sampleRateHz, languages, problem } = modelJson(found)
    const rate = sampleRateHz === null ? '-' : `${sampleRateHz} Hz`
    return [tenant, name, version, engine ?? '-', rate, languages.join(',') || '-', problem ?? '-']
  })
  return tableText(titles, rows)
}
