import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TypeOf } from 'io-ts'
import { listOf } from '../../../protocol/collections.js'
import {
  codec,
  eitherOf,
  flag,
  nonEmptyText,
  oneOf,
  optionsCodec,
  wholeNumber,
  type Codec,
  type Codecs,
} from '../../../protocol/validation.js'
import type { ModelDescription } from '../engine.js'
import { findModelFile } from '../models/model-files.js'
import { partialsOption, type PartialsOption } from '../offline/offline-engine.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { sherpaKeys, sherpaTypes, type LanguageSetting, type SherpaType } from './model-types.js'
import { checkTokens, isStreamingNetwork, readNetwork, type Networks } from './networks.js'
import type { SherpaConfig, SherpaSettings } from './package.js'

/** The dimension of the acoustic features of these models. */
const featureDim = 80

const hotwordsScore = codec(
  'a number above 0, at most 100',
  (value): value is number => typeof value === 'number' && value > 0 && value <= 100,
)

const file = textOption('the name of a file')
const folder = textOption('the name of a folder')
const nameList = codec<readonly string[]>('a list of names', listOf(nonEmptyText).is)

/** The part of `model.json` that belongs to a key: what all of its types have is required. */
const typeOptions = (key: string): Codec<Readonly<Record<string, unknown>>> => {
  const types = sherpaTypes.filter((type) => type.key === key)
  const codecsOf = ({ files, folders = {} }: SherpaType): Codecs => ({
    ...Object.fromEntries(Object.keys(files).map((name) => [name, file])),
    ...Object.fromEntries(Object.keys(folders).map((name) => [name, folder])),
  })
  const all = Object.assign({}, ...types.map(codecsOf)) as Codecs
  const isCommon = (name: string): boolean => types.every((type) => name in codecsOf(type))
  const required = Object.fromEntries(Object.entries(all).filter(([name]) => isCommon(name)))
  const others = Object.fromEntries(Object.entries(all).filter(([name]) => !isCommon(name)))
  const options = Object.assign(others, ...types.map(({ options: own = {} }) => own)) as Codecs
  return optionsCodec(required, options, `an object of files: ${Object.keys(all).join(', ')}`)
}

const punctuationModel = eitherOf(
  optionsCodec({ cnnBilstm: file, bpeVocab: file }, {}, 'true, false or an object of files: cnnBilstm, bpeVocab'),
  optionsCodec({ ctTransformer: file }, {}, 'an object of a file: ctTransformer'),
)

/** `model.json` of this engine, beside the part of the type: the files are in the folder of the model. */
const commonOptions = {
  tokens: textOption("the name of the file with the model's tokens"),
  // Whether the network decodes audio as it comes; needed only where its file does not tell.
  streaming: flag,
  // The rate of the model in Hz.
  sampleRateHz: oneOf(8000, 16_000),
  provider: oneOf('cpu', 'cuda', 'coreml'),
  // Threads within the recognizer.
  numThreads: wholeNumber({ min: 1, max: 64 }),
  decodingMethod: oneOf('greedy_search', 'modified_beam_search'),
  maxActivePaths: wholeNumber({ min: 1, max: 100 }),
  // They are likelier than usual.
  hotwords: textOption('the name of a file with a phrase per line'),
  hotwordsScore,
  // What the tokens are, so that hotwords are split into them.
  modelingUnit: oneOf('bpe', 'cjkchar', 'cjkchar+bpe'),
  bpeVocab: textOption('the name of a file of pieces of words and their scores'),
  // A switch of the model, or a helper that adds it.
  punctuation: eitherOf(flag, punctuationModel),
  inverseTextNormalization: flag,
  // Finite-state transducers that rewrite the text.
  ruleFsts: nameList,
  ruleFars: nameList,
  segmentsAtOnce: wholeNumber({ min: 1, max: 256 }),
  processes: wholeNumber({ min: 1, max: 64 }),
  // Of models that read segments as a whole.
  partials: partialsOption,
  language: textOption('the name of a language'),
  languages: nameList,
  // Read by the service.
  batch: flag,
}

const modelOptions = optionsCodec(
  { engine: oneOf('sherpa-onnx') },
  { ...commonOptions, ...Object.fromEntries(sherpaKeys.map((key) => [key, typeOptions(key)])) },
)

type CommonOptions = {
  readonly [Name in keyof typeof commonOptions]?: TypeOf<(typeof commonOptions)[Name]> | undefined
}

/** What `model.json` says, without a look at the files. */
interface SherpaOptions extends CommonOptions {
  readonly key: string
  /** The part of the type. */
  readonly part: Readonly<Record<string, unknown>>
  /** The types that it can be: the files tell streaming ones from others. */
  readonly types: readonly SherpaType[]
}

const namesOf = ({ files, folders = {} }: SherpaType): readonly string[] => [
  ...Object.keys(files),
  ...Object.keys(folders),
]

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
export const readSherpaOptions = (model: ModelDescription): SherpaOptions => {
  const options = decodeModelOptions(model, modelOptions) as CommonOptions & Readonly<Record<string, unknown>>
  const [key, another] = sherpaKeys.filter((name) => options[name] !== undefined)
  if (key === undefined || another !== undefined) {
    throw invalidModel(model, `model.json must have exactly one of ${quoteNames(sherpaKeys)}.`)
  }
  const part = options[key] as Readonly<Record<string, unknown>>
  const ofKey = sherpaTypes.filter((type) => type.key === key)
  const named = ofKey.filter((type) => {
    const names = namesOf(type)
    const others = ofKey.flatMap(namesOf).filter((name) => !names.includes(name))
    return names.every((name) => name in part) && !others.some((name) => name in part)
  })
  if (named.length === 0) {
    const sets = ofKey.map((type) => namesOf(type).join(', ')).join('; or ')
    throw invalidModel(model, `"${key}" in model.json must name the files of one type: ${sets}.`)
  }
  const types = named.filter(({ streaming }) => options.streaming === undefined || options.streaming === streaming)
  if (types.length === 0) throw invalidModel(model, `"${key}" has no type with "streaming": ${options.streaming}.`)
  for (const type of types) checkCombination(model, options, type, types.length > 1)
  return { ...options, key, part, types }
}

const quoteNames = (names: readonly string[]): string => `"${names.slice(0, -1).join('", "')}" and "${names.at(-1)}"`

/** Refuses what the native library ends its process for, or takes and ignores. */
const checkCombination = (
  model: ModelDescription,
  options: CommonOptions,
  type: SherpaType,
  isAmbiguous: boolean,
): void => {
  const { hotwords, decodingMethod, modelingUnit, bpeVocab, punctuation, inverseTextNormalization, language } = options
  const refuse = (sentence: string): never => {
    throw invalidModel(model, sentence)
  }
  const needs = (name: string, what: string): never =>
    refuse(`"${name}" needs ${what}, which "${type.key}" does not have.`)
  if (type.hasTokens !== false && options.tokens === undefined) {
    refuse(`"tokens" in model.json must be ${commonOptions.tokens.name}.`)
  }
  const isBeam = decodingMethod === 'modified_beam_search'
  if (isBeam && type.hasBeamSearch !== true) needs('decodingMethod', 'a model with beam search')
  if (hotwords !== undefined && (type.hasBeamSearch !== true || !isBeam)) {
    refuse('"hotwords" needs a "transducer" and "decodingMethod": "modified_beam_search".')
  }
  const isSplit = modelingUnit?.endsWith('bpe') === (bpeVocab !== undefined)
  if ((hotwords !== undefined || modelingUnit !== undefined) && !isSplit) {
    refuse(
      '"hotwords" needs "modelingUnit", which is "bpe" or "cjkchar+bpe" with the file "bpeVocab", or "cjkchar" without it.',
    )
  }
  if (typeof punctuation === 'boolean' && type.punctuationField === undefined) needs('punctuation', 'a switch for it')
  if (inverseTextNormalization !== undefined && type.numbersField === undefined) {
    needs('inverseTextNormalization', 'a switch for it')
  }
  const { languages } = type
  if (language !== undefined && languages?.includes(language) === false) {
    refuse(`"language" is "${language}", which the model does not have; it has ${languages.join(', ')}.`)
  }
  if (type.needsLanguage === true && language === undefined) {
    refuse(`"${type.key}" needs "language", for sessions that name none: ${languages?.join(', ')}.`)
  }
  if (!isAmbiguous && options.sampleRateHz !== undefined && !type.rates.includes(options.sampleRateHz)) {
    refuse(`"sampleRateHz" must be ${type.rates.join(' or ')} for "${type.key}".`)
  }
}

/** The path of a folder that `model.json` names, with its files. */
const findFolder = async (
  model: ModelDescription,
  key: string,
  name: string,
  files: readonly string[],
): Promise<string> => {
  for (const inside of files) await findModelFile(model, key, `${name}/${inside}`)
  const path = join(model.folder, name)
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder)
    throw invalidModel(model, `"${key}" in model.json names ${JSON.stringify(name)}, which is not a folder.`)
  return path
}

/** The paths of the named files; rejects for the first that is missing, with its key such as `transducer.joiner`. */
const findFiles = async (
  model: ModelDescription,
  { key, part, types: [type] }: SherpaOptions,
): Promise<Readonly<Record<string, string>>> => {
  const paths: Record<string, string> = {}
  for (const name of Object.keys(type?.files ?? {})) {
    paths[name] = await findModelFile(model, `${key}.${name}`, String(part[name]))
  }
  for (const [name, files] of Object.entries(type?.folders ?? {})) {
    paths[name] = await findFolder(model, `${key}.${name}`, String(part[name]), files)
  }
  return paths
}

const findAll = async (model: ModelDescription, key: string, names: readonly string[]): Promise<string> => {
  const paths: string[] = []
  for (const name of names) paths.push(await findModelFile(model, key, name))
  return paths.join(',')
}

/** The library reads the file itself, as UTF-8, and takes a byte order mark for a part of the first phrase. */
const findHotwords = async (model: ModelDescription, name: string): Promise<string> => {
  const path = await findModelFile(model, 'hotwords', name)
  const bytes = await readFile(path)
  if (!isUtf8(bytes) || bytes.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))) {
    throw invalidModel(model, `${name} is not text in UTF-8; save it as UTF-8 without a byte order mark.`)
  }
  return path
}

const findPunctuation = async (
  model: ModelDescription,
  helper: CommonOptions['punctuation'],
): Promise<SherpaSettings['punctuation']> => {
  if (typeof helper !== 'object') return undefined
  const paths: Record<string, string> = {}
  for (const [name, value] of Object.entries(helper)) {
    paths[name] = await findModelFile(model, `punctuation.${name}`, value)
    if (name !== 'bpeVocab') await readNetwork(model, value, paths[name])
  }
  return { streaming: 'cnnBilstm' in paths, config: { model: { ...paths, numThreads: 1, provider: 'cpu' } } }
}

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

/** The type of the files: of two with the same names, what the encoder says of itself decides. */
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
 * Reads `model.json`, finds every file and looks into it, because the native library ends its process, or reads wrong words, where
 * they do not fit. Rejects with `invalid-model` that names the key.
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
    ...(type.streaming && { featConfig: { sampleRate: sampleRateHz, featureDim }, enableEndpoint: 0 }),
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
