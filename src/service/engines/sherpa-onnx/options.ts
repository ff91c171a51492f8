import * as t from 'io-ts'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-files.js'
import { decodeModelOptions, type ExpectedOptions } from '../models/model-options.js'

/**
 * What `model.json` says for the engine `sherpa-onnx`: a streaming model of one of three kinds, its files in the model's
 * folder, and how it is to be run. Exactly one of `transducer`, `paraformer` and `zipformer2Ctc` is there.
 */
export interface SherpaOptions {
  readonly engine: 'sherpa-onnx'
  readonly tokens: string
  readonly transducer?: { readonly encoder: string; readonly decoder: string; readonly joiner: string }
  readonly paraformer?: { readonly encoder: string; readonly decoder: string }
  readonly zipformer2Ctc?: { readonly model: string }
  /** What the model hears, in Hz; 16000 when absent. */
  readonly sampleRateHz?: 8000 | 16000
  readonly provider?: 'cpu' | 'cuda' | 'coreml'
  /** Threads within one recognizer; 1 when absent. */
  readonly numThreads?: number
  readonly decodingMethod?: 'greedy_search' | 'modified_beam_search'
  readonly maxActivePaths?: number
  /** A file of words and phrases that are likelier than usual; transducers with `modified_beam_search` only. */
  readonly hotwords?: string
  readonly hotwordsScore?: number
  /** Segments that are read at the same time; 16 when absent. */
  readonly segmentsAtOnce?: number
  readonly language?: string
  readonly batch?: boolean
}

const whole = (least: number, most: number): t.Type<number, number> =>
  t.refinement(t.Integer, (value) => value >= least && value <= most)
const positive = t.refinement(t.number, (value) => value > 0 && value <= 100)

const codec = t.intersection([
  t.type({ engine: t.literal('sherpa-onnx'), tokens: t.string }),
  t.partial({
    transducer: t.strict({ encoder: t.string, decoder: t.string, joiner: t.string }),
    paraformer: t.strict({ encoder: t.string, decoder: t.string }),
    zipformer2Ctc: t.strict({ model: t.string }),
    sampleRateHz: t.union([t.literal(8000), t.literal(16_000)]),
    provider: t.keyof({ cpu: null, cuda: null, coreml: null }),
    numThreads: whole(1, 64),
    decodingMethod: t.keyof({ greedy_search: null, modified_beam_search: null }),
    maxActivePaths: whole(1, 100),
    hotwords: t.string,
    hotwordsScore: positive,
    segmentsAtOnce: whole(1, 256),
    language: t.string,
    batch: t.boolean,
  }),
])

const expected: ExpectedOptions<SherpaOptions> = {
  engine: '"sherpa-onnx"',
  tokens: "the name of the file with the model's tokens",
  transducer: 'an object of three files: encoder, decoder, joiner',
  paraformer: 'an object of two files: encoder, decoder',
  zipformer2Ctc: 'an object of one file: model',
  sampleRateHz: '8000 or 16000',
  provider: '"cpu", "cuda" or "coreml"',
  numThreads: 'a whole number from 1 to 64',
  decodingMethod: '"greedy_search" or "modified_beam_search"',
  maxActivePaths: 'a whole number from 1 to 100',
  hotwords: 'the name of a file with a phrase a line',
  hotwordsScore: 'a number above 0, at most 100',
  segmentsAtOnce: 'a whole number from 1 to 256',
  language: 'the name of a language',
  batch: 'true or false',
}

/** The options, or throws `invalid-model` that names the first key that is wrong, missing or unknown. */
export const decodeSherpaOptions = (model: ModelDescription): SherpaOptions => {
  const options = decodeModelOptions<SherpaOptions>(model, codec, expected)
  const { transducer, paraformer, zipformer2Ctc, hotwords, decodingMethod } = options
  const kinds = [transducer, paraformer, zipformer2Ctc].filter((kind) => kind !== undefined)
  if (kinds.length !== 1) {
    throw invalidModel(model, 'model.json must have exactly one of "transducer", "paraformer" and "zipformer2Ctc".')
  }
  if (hotwords !== undefined && (transducer === undefined || decodingMethod !== 'modified_beam_search')) {
    throw invalidModel(model, '"hotwords" needs a "transducer" and "decodingMethod": "modified_beam_search".')
  }
  return options
}
