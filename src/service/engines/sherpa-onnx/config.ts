import type { ModelDescription } from '../engine.js'
import { findModelFile } from '../models/model-files.js'
import type { SherpaOptions } from './options.js'

/** How many coefficients of sound the models of this family hear a frame. */
const featureDim = 80
export const defaultRateHz = 16_000

/** The place of each named file; rejects with the first that is not there, by its key such as `transducer.joiner`. */
const findAll = async <Key extends string>(
  model: ModelDescription,
  prefix: string,
  files: Readonly<Record<Key, string>>,
): Promise<Record<Key, string>> => {
  const places: [string, string][] = []
  for (const [key, file] of Object.entries<string>(files)) {
    places.push([key, await findModelFile(model, prefix + key, file)])
  }
  return Object.fromEntries(places) as Record<Key, string>
}

/**
 * The configuration of the package's streaming recognizer. Every file is looked for first, since the package says
 * nothing but that the configuration is wrong. Where a segment ends is decided by the service, so its own rules are off.
 */
export const sherpaConfig = async (model: ModelDescription, options: SherpaOptions): Promise<object> => {
  const { transducer, paraformer, zipformer2Ctc, tokens, hotwords } = options
  const { provider = 'cpu', numThreads = 1, decodingMethod = 'greedy_search', maxActivePaths = 4 } = options
  return {
    featConfig: { sampleRate: options.sampleRateHz ?? defaultRateHz, featureDim },
    modelConfig: {
      ...(transducer && { transducer: await findAll(model, 'transducer.', transducer) }),
      ...(paraformer && { paraformer: await findAll(model, 'paraformer.', paraformer) }),
      ...(zipformer2Ctc && { zipformer2Ctc: await findAll(model, 'zipformer2Ctc.', zipformer2Ctc) }),
      tokens: await findModelFile(model, 'tokens', tokens),
      provider,
      numThreads,
      debug: 0,
    },
    decodingMethod,
    maxActivePaths,
    enableEndpoint: 0,
    ...(hotwords !== undefined && {
      hotwordsFile: await findModelFile(model, 'hotwords', hotwords),
      hotwordsScore: options.hotwordsScore ?? 1.5,
    }),
  }
}
