import type { ModelDescription } from '../engine.js'
import { findModelFile } from '../models/model-files.js'
import { invalidModel } from '../models/model-json.js'
import type { PartialsOption } from '../offline/offline-engine.js'
import { readSherpaOptions, type SherpaOptions } from './model-options.js'
import { findAll, findFiles, findHotwords, findPunctuation } from './model-paths.js'
import type { LanguageSetting, SherpaType } from './model-types.js'
import { checkTokens, isStreamingNetwork, readNetwork, type Networks } from './networks.js'
import type { SherpaConfig, SherpaSettings } from './package.js'

/** The dimension of the acoustic features of these models. */
const featureDim = 80
const usualRateHz = 16_000

/** The fields of the type's part of the package's configuration. */
const partConfig = (
  type: SherpaType,
  { part, punctuation, inverseTextNormalization, language }: SherpaOptions,
  paths: Readonly<Record<string, string>>,
): unknown => {
  if (type.isPath === true) return paths['model']
  const own = Object.fromEntries(Object.entries(part).filter(([name]) => name in (type.options ?? {})))
  const { punctuationField, numbersField, tailField } = type
  return {
    ...(tailField !== undefined && { [tailField.field]: tailField.final }),
    // Numbers: where the model has them in its decoder, the package gives times, and else it warns once.
    ...(type.key === 'whisper' && { enableTokenTimestamps: 1 }),
    ...type.defaults,
    ...own,
    ...Object.fromEntries(languageFields(languageSettingOf(type, part)).map((field) => [field, language ?? ''])),
    ...(punctuationField !== undefined && { [punctuationField]: Number(punctuation ?? true) }),
    ...(numbersField !== undefined && { [numbersField]: Number(inverseTextNormalization ?? true) }),
    ...paths,
  }
}

/** The setting without the fields that `model.json` sets itself, such as the language of a translation. */
const languageSettingOf = ({ language }: SherpaType, part: SherpaOptions['part']): LanguageSetting =>
  language.by === 'configuration'
    ? { by: 'configuration', fields: language.fields.filter((field) => !(field in part)) }
    : language

/** The fields of the configuration that have the language. */
const languageFields = (setting: LanguageSetting): readonly string[] => {
  if (setting.by === 'configuration') return setting.fields
  return setting.by === 'nothing' || setting.field === undefined ? [] : [setting.field]
}

/** How many segments these CPUs decode at the same time with a small model: 8 each, 16 at most. */
const segmentsFor = (cpus: number): number => Math.min(Math.max(Math.floor(8 * cpus), 1), 16)

/** What a model is run with. */
export interface SherpaPlan {
  readonly type: SherpaType
  readonly settings: SherpaSettings
  /** The languages that a session may name; undefined if the model has one, or if they are unknown. */
  readonly languages: readonly string[] | undefined
  /** Whether its words have times. */
  readonly hasTimes: boolean
  /** Whether sessions may have phrases. */
  readonly takesPhrases: boolean
  /** Of a streaming model. */
  readonly segmentsAtOnce: number
  /** Of one that reads segments as a whole. */
  readonly processes: number
  readonly partials: PartialsOption | undefined
}

/** A process needs about this much beside three times the size of the files, in bytes. */
const processBytes = 150e6

/** Files are read into memory, and the work of long segments needs as much again. */
const memoryOf = (fileBytes: number): number => processBytes + 3 * fileBytes

const processesFor = (cpus: number, numThreads: number, fileBytes: number, memoryBytes: number): number =>
  Math.max(Math.floor(Math.min(cpus / numThreads, memoryBytes / 2 / memoryOf(fileBytes), 64)), 1)

/** The type of the files: of two with the same names, the metadata of the encoder decides. */
const chooseType = (model: ModelDescription, options: SherpaOptions, networks: Networks): SherpaType => {
  const [first, second] = options.types
  if (first === undefined) throw invalidModel(model, `"${options.key}" is of no type.`)
  if (second === undefined) return first
  const isStreaming = isStreamingNetwork(networks)
  return options.types.find(({ streaming }) => streaming === isStreaming) ?? first
}

/** The languages of a model: `model.json` names them, or its files, or its type; with `auto` if it detects them. */
const languagesOf = (type: SherpaType, options: SherpaOptions, networks: Networks): readonly string[] | undefined => {
  const { language } = options
  const own = language === undefined || language === 'auto' ? undefined : [language]
  if (type.language.by === 'load') return own
  const whisper = type.key === 'whisper' ? (networks['encoder']?.metadata ?? {}) : {}
  const isMultilingual = whisper['is_multilingual'] === '1'
  const known = isMultilingual ? whisper['all_language_codes']?.split(',') : type.key === 'whisper' ? ['en'] : undefined
  const languages = options.languages ?? known ?? type.languages ?? own
  const detects = isMultilingual || (type.detects === true && languages !== own)
  if (languages === undefined) return undefined
  // It has several, and takes none.
  if (type.language.by === 'nothing' && languages.length > 1) return ['auto']
  return detects ? ['auto', ...languages] : languages
}

/**
 * Reads `model.json`, finds every file and looks into it, because the native library ends its process, or reads wrong
 * words, where they do not fit. Rejects with `invalid-model` that names the key.
 *
 * @param memoryBytes how much memory the machine has for all
 */
export const readSherpaModel = async (
  model: ModelDescription,
  cpus: number,
  memoryBytes = Infinity,
): Promise<SherpaPlan> => {
  const options = readSherpaOptions(model)
  const paths = await findFiles(model, options)
  const tokens = options.tokens === undefined ? '' : await findModelFile(model, 'tokens', options.tokens)
  const networks: Record<string, Awaited<ReturnType<typeof readNetwork>>> = {}
  let fileBytes = 0
  for (const name of Object.keys(options.types[0]?.files ?? {})) {
    networks[name] = await readNetwork(model, String(options.part[name]), paths[name] ?? '')
    fileBytes += networks[name].bytes
  }
  const type = chooseType(model, options, networks)
  const letters = tokens === '' ? 'lower' : await checkTokens(model, options.tokens ?? '', tokens, type, networks)
  const languages = languagesOf(type, options, networks)
  const { language = languages?.length === 1 && type.key === 'whisper' ? languages[0] : undefined } = options
  const isFree = type.language.by === 'nothing' && languages?.[0] === 'auto'
  if (language !== undefined && languages?.includes(language) === false && !isFree) {
    throw invalidModel(
      model,
      `"language" is "${language}", which the model does not have; it has ${languages.join(', ')}.`,
    )
  }
  const sampleRateHz = options.sampleRateHz ?? type.rates[0]
  const { numThreads = 1, modelingUnit, bpeVocab, hotwords, ruleFsts, ruleFars } = options
  const config: SherpaConfig = {
    // For the usual rate, types that read audio as a whole have features of their own.
    ...((type.streaming || sampleRateHz !== usualRateHz) && {
      featConfig: { sampleRate: sampleRateHz, featureDim: type.featureDim ?? featureDim },
    }),
    ...(type.streaming && { enableEndpoint: 0 }),
    modelConfig: {
      [type.key]: partConfig(type, { ...options, language }, paths),
      tokens,
      provider: options.provider ?? 'cpu',
      numThreads,
      debug: 0,
      ...(modelingUnit !== undefined && { modelingUnit }),
      ...(bpeVocab !== undefined && { bpeVocab: await findModelFile(model, 'bpeVocab', bpeVocab) }),
    },
    decodingMethod: options.decodingMethod ?? 'greedy_search',
    maxActivePaths: options.maxActivePaths ?? 4,
    hotwordsScore: options.hotwordsScore ?? 1.5,
    ...(hotwords !== undefined && { hotwordsFile: await findHotwords(model, hotwords) }),
    ...(ruleFsts !== undefined && { ruleFsts: await findAll(model, 'ruleFsts', ruleFsts) }),
    ...(ruleFars !== undefined && { ruleFars: await findAll(model, 'ruleFars', ruleFars) }),
  }
  return {
    type,
    settings: {
      type: 'rxspeech-sherpa-onnx',
      key: type.key,
      streaming: type.streaming,
      config,
      sampleRateHz,
      languageSetting: languageSettingOf(type, options.part),
      language,
      leadMs: type.leadMs ?? 0,
      tailMs: type.tailMs ?? 0,
      tailField: type.tailField,
      punctuation: await findPunctuation(model, options.punctuation),
      letters,
      maxProcessBytes: Math.max(600e6, 2 * memoryOf(fileBytes)),
    },
    languages,
    hasTimes:
      type.times === 'yes' ||
      (type.key === 'whisper' && networks['decoder']?.outputs.includes('cross_attention_weights') === true),
    takesPhrases: !type.streaming && options.decodingMethod === 'modified_beam_search' && modelingUnit !== undefined,
    segmentsAtOnce: options.segmentsAtOnce ?? segmentsFor(cpus),
    partials: options.partials,
    processes: options.processes ?? processesFor(cpus, numThreads, fileBytes, memoryBytes),
  }
}
