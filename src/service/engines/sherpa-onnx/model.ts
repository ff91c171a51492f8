import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import type { TypeOf } from 'io-ts'
import { codec, flag, oneOf, optionsCodec, wholeNumber } from '../../../protocol/validation.js'
import type { ModelDescription } from '../engine.js'
import { findModelFile } from '../models/model-files.js'
import { decodeModelOptions, invalidModel, textOption } from '../models/model-json.js'
import type { SherpaConfig } from './package.js'

/** The dimension of the acoustic features of these models. */
const featureDim = 80

const hotwordsScore = codec(
  'a number above 0, at most 100',
  (value): value is number => typeof value === 'number' && value > 0 && value <= 100,
)

const file = textOption('the name of a file')

/** `model.json` of this engine: a streaming model, whose files are in the folder of the model. */
const modelOptions = optionsCodec(
  { engine: oneOf('sherpa-onnx'), tokens: textOption("the name of the file with the model's tokens") },
  {
    // Exactly one of the three is present.
    transducer: optionsCodec(
      { encoder: file, decoder: file, joiner: file },
      {},
      'an object of three files: encoder, decoder, joiner',
    ),
    paraformer: optionsCodec({ encoder: file, decoder: file }, {}, 'an object of two files: encoder, decoder'),
    zipformer2Ctc: optionsCodec({ model: file }, {}, 'an object of one file: model'),
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
    segmentsAtOnce: wholeNumber({ min: 1, max: 256 }),
    language: textOption('the name of a language'),
    // Read by the service.
    batch: flag,
  },
)

type SherpaOptions = TypeOf<typeof modelOptions>

/** Throws `invalid-model` for a key or a value that `model.json` of this engine cannot have. */
export const readSherpaOptions = (model: ModelDescription): SherpaOptions => {
  const options = decodeModelOptions(model, modelOptions)
  const { transducer, paraformer, zipformer2Ctc, hotwords, decodingMethod, modelingUnit, bpeVocab } = options
  const types = [transducer, paraformer, zipformer2Ctc].filter((type) => type !== undefined)
  if (types.length !== 1) {
    throw invalidModel(model, 'model.json must have exactly one of "transducer", "paraformer" and "zipformer2Ctc".')
  }
  if (hotwords !== undefined && (transducer === undefined || decodingMethod !== 'modified_beam_search')) {
    throw invalidModel(model, '"hotwords" needs a "transducer" and "decodingMethod": "modified_beam_search".')
  }
  if (hotwords !== undefined && modelingUnit?.endsWith('bpe') !== (bpeVocab !== undefined)) {
    throw invalidModel(
      model,
      '"hotwords" needs "modelingUnit", which is "bpe" or "cjkchar+bpe" with the file "bpeVocab", or "cjkchar" without it.',
    )
  }
  return options
}

/** The paths of the named files; rejects for the first that is missing, with its key such as `transducer.joiner`. */
const findFiles = async <Name extends string>(
  model: ModelDescription,
  key: string,
  files: Readonly<Record<Name, string>>,
): Promise<Readonly<Record<Name, string>>> => {
  const paths: [string, string][] = []
  for (const [name, file] of Object.entries<string>(files)) {
    paths.push([name, await findModelFile(model, `${key}.${name}`, file)])
  }
  return Object.fromEntries(paths) as Record<Name, string>
}

/** The library reads the file itself, as UTF-8, and takes a byte order mark for a part of the first phrase. */
const findHotwords = async (model: ModelDescription, file: string): Promise<string> => {
  const path = await findModelFile(model, 'hotwords', file)
  const bytes = await readFile(path)
  if (!isUtf8(bytes) || bytes.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))) {
    throw invalidModel(model, `${file} is not text in UTF-8; save it as UTF-8 without a byte order mark.`)
  }
  return path
}

/** The configuration of the package's recognizer. The service decides where a segment ends, so its own rules are off. */
const recognizerConfig = async (
  model: ModelDescription,
  sampleRateHz: number,
  options: SherpaOptions,
): Promise<SherpaConfig> => {
  const { transducer, paraformer, zipformer2Ctc, tokens, hotwords, modelingUnit, bpeVocab } = options
  return {
    featConfig: { sampleRate: sampleRateHz, featureDim },
    modelConfig: {
      ...(transducer && { transducer: await findFiles(model, 'transducer', transducer) }),
      ...(paraformer && { paraformer: await findFiles(model, 'paraformer', paraformer) }),
      ...(zipformer2Ctc && { zipformer2Ctc: await findFiles(model, 'zipformer2Ctc', zipformer2Ctc) }),
      tokens: await findModelFile(model, 'tokens', tokens),
      provider: options.provider ?? 'cpu',
      numThreads: options.numThreads ?? 1,
      debug: 0,
      ...(modelingUnit !== undefined && { modelingUnit }),
      ...(bpeVocab !== undefined && { bpeVocab: await findModelFile(model, 'bpeVocab', bpeVocab) }),
    },
    decodingMethod: options.decodingMethod ?? 'greedy_search',
    maxActivePaths: options.maxActivePaths ?? 4,
    enableEndpoint: 0,
    hotwordsScore: options.hotwordsScore ?? 1.5,
    ...(hotwords !== undefined && { hotwordsFile: await findHotwords(model, hotwords) }),
  }
}

/** How many segments these CPUs decode at the same time with a small model: 8 each, 16 at most. */
const segmentsFor = (cpus: number): number => Math.min(Math.max(Math.floor(8 * cpus), 1), 16)

/** What a model is run with. */
export interface SherpaPlan {
  readonly config: SherpaConfig
  readonly sampleRateHz: number
  readonly segmentsAtOnce: number
}

/**
 * Reads `model.json` and finds every file, because the package only reports that its configuration is wrong. Rejects with
 * `invalid-model` that names the key.
 */
export const readSherpaModel = async (model: ModelDescription, cpus: number): Promise<SherpaPlan> => {
  const options = readSherpaOptions(model)
  const { sampleRateHz = 16_000, segmentsAtOnce = segmentsFor(cpus) } = options
  return { config: await recognizerConfig(model, sampleRateHz, options), sampleRateHz, segmentsAtOnce }
}
