import type { TypeOf } from 'io-ts'
import { listOf } from 'rxspeech/internal/protocol/collections'
import {
  codec,
  type Codec,
  type Codecs,
  eitherOf,
  flag,
  nonEmptyText,
  oneOf,
  optionsCodec,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import type { ModelDescription } from '../engine.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import { partialsOption } from '../offline/offline-engine.js'
import { sherpaKeys, sherpaTypes, type SherpaType } from './model-types.js'

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
  // Whether the network decodes audio as it comes; needed only where its file has no such metadata.
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

export type CommonOptions = {
  readonly [Name in keyof typeof commonOptions]?: TypeOf<(typeof commonOptions)[Name]> | undefined
}

/** The content of `model.json`, without the files. */
export interface SherpaOptions extends CommonOptions {
  readonly key: string
  /** The part of the type. */
  readonly part: Readonly<Record<string, unknown>>
  /** The types that it can be: the files show which ones stream. */
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
