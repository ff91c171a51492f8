import { join } from 'node:path'
import type { EngineKind } from 'rxspeech-engines/engine'
import { addModel, checkModelName, copyFiles } from 'rxspeech-engines/models/add-model'
import type { FoundModel } from 'rxspeech-engines/models/model-folders'
import { findSherpaModel } from 'rxspeech-engines/sherpa-onnx/find-model'
import { sherpaOnnx } from 'rxspeech-engines/sherpa-onnx/sherpa-onnx'
import { soundswallower } from 'rxspeech-engines/soundswallower/soundswallower'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { CommandCall } from '../parsing/command.js'
import { flag, flagGroup, flagName, switchFlag, type FlagValues } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { oneOf, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { plainText } from '../view/plain-text.js'

const grammarFlags = {
  grammar: flag('<file>', 'a grammar in the JSpeech Grammar Format, with one public rule', text),
  phrases: flag('<file>', 'sentences, one per line', text),
  dictionary: flag('<file>', 'words that the dictionary lacks: a word and its phones per line', text),
}
const languageFlags = {
  language: flag('<code>', 'of a grammar or phrases: en-us or fr-fr (default: en-us); of a folder: such as de', text),
}
const sherpaFlags = {
  sherpaOnnx: flag('<dir>', 'the folder, in place of the argument', text),
  rate: flag('<hertz>', 'the rate of that model: 8000 or 16000 (default: 16000)', oneOf(['8000', '16000'])),
  int8: switchFlag('its files that are quantized to 8 bits, where it has both'),
  hotwords: flag('<file>', 'phrases that it shall prefer, one per line; only for a transducer', text),
}
const placeFlags = {
  models: flag('<dir>', 'the folder of models to add it to', text),
  tenant: flag('<name>', 'its tenant (default: Default)', (typed) => checkModelName('tenant', typed)),
  version: flag('<version>', 'its version (default: the newest plus one)', (typed) => checkModelName('version', typed)),
  batch: switchFlag('audio may come faster than real time'),
  json: jsonFlag,
}

export const addFlags = {
  ...placeFlags,
  ...languageFlags,
  ...flagGroup('A model of what can be said:', grammarFlags),
  ...flagGroup('A model of any speech, a folder as its makers publish it:', sherpaFlags),
}

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
  readonly files: Readonly<Record<string, string>>
  readonly kind: EngineKind
}

const planContent = (
  typedFolder: string | undefined,
  flags: AddFlags,
  given: readonly string[],
): Content | Promise<Content> => {
  const { sherpaOnnx: flagFolder } = flags
  if (typedFolder !== undefined && flagFolder !== undefined)
    throw usageError('Name the folder once; omit --sherpa-onnx.')
  const folder = typedFolder ?? flagFolder
  if (folder !== undefined) {
    refuseOthers('sherpa-onnx', given, { ...sherpaFlags, ...languageFlags })
    return planSherpa(folder, flags)
  }
  if (flags.grammar === undefined && flags.phrases === undefined) {
    throw usageError('A model needs a folder, --grammar or --phrases.')
  }
  refuseOthers('a grammar or phrases', given, { ...grammarFlags, ...languageFlags })
  const language = flags.language === undefined ? undefined : grammarLanguage(flags.language, '--language')
  const { options, files } = planGrammar(flags)
  return {
    options: { engine: 'soundswallower', ...options, ...(language !== undefined && { language }) },
    files,
    kind: soundswallower({ workers: 1, decodersPerWorker: 1 }),
  }
}

const grammarLanguage = oneOf(['en-us', 'fr-fr'])

/** Throws `invalid-options` for a flag that a model of this kind does not have. */
const refuseOthers = (what: string, given: readonly string[], own: object): void => {
  const refused = given.find((name) => !(name in own) && !(name in placeFlags))
  if (refused !== undefined) throw usageError(`${flagName(refused)} does not fit a model for ${what}; omit it.`)
}

/** The file of a grammar or phrases, and that of further words. */
const planGrammar = ({
  grammar,
  phrases,
  dictionary,
}: AddFlags): Pick<Content, 'files'> & { readonly options: object } => {
  if (grammar !== undefined && phrases !== undefined) throw usageError('Set either --grammar or --phrases, not both.')
  return {
    options: {
      ...(grammar !== undefined && { grammar: 'grammar.gram' }),
      ...(phrases !== undefined && { phrases: 'phrases.txt' }),
      ...(dictionary !== undefined && { dictionary: 'dictionary.txt' }),
    },
    files: {
      ...(grammar !== undefined && { 'grammar.gram': grammar }),
      ...(phrases !== undefined && { 'phrases.txt': phrases }),
      ...(dictionary !== undefined && { 'dictionary.txt': dictionary }),
    },
  }
}

const planSherpa = async (folder: string, { rate, int8, hotwords, language }: AddFlags): Promise<Content> => {
  const { options, files, bpeVocab } = await findSherpaModel(folder, int8)
  const hotwordOptions = {
    hotwords: 'hotwords.txt',
    decodingMethod: 'modified_beam_search',
    ...(bpeVocab === undefined ? { modelingUnit: 'cjkchar' } : { modelingUnit: 'bpe', bpeVocab }),
  }
  const names = hotwords === undefined || bpeVocab === undefined ? files : [...files, bpeVocab]
  return {
    options: {
      engine: 'sherpa-onnx',
      ...options,
      ...(rate !== undefined && { sampleRateHz: Number(rate) }),
      ...(language !== undefined && { language }),
      ...(hotwords !== undefined && hotwordOptions),
    },
    files: {
      ...Object.fromEntries(names.map((name) => [name, join(folder, name)])),
      ...(hotwords !== undefined && { 'hotwords.txt': hotwords }),
    },
    kind: sherpaOnnx(),
  }
}
