import { join } from 'node:path'
import type { ModelSource } from '../engine.js'
import { findSherpaModel } from './find-model.js'

/** Makes a model of a folder as its makers publish it. */
export const addFolder: ModelSource = {
  title: 'A model of any speech, a folder as its makers publish it:',
  what: 'sherpa-onnx',
  inputs: {
    sherpaOnnx: { placeholder: '<dir>', help: 'the folder, in place of the argument' },
    rate: {
      placeholder: '<hertz>',
      help: 'the rate of that model: 8000 or 16000 (default: 16000)',
      choices: ['8000', '16000'],
    },
    int8: { help: 'its files that are quantized to 8 bits, where it has both' },
    hotwords: {
      placeholder: '<file>',
      help: 'phrases that it shall prefer, one per line; only for a transducer',
    },
  },
  sources: ['sherpaOnnx'],
  takesFolder: true,
  plan: async ({ sherpaOnnx: folder = '', rate, int8, hotwords }) => {
    const { options, files, bpeVocab } = await findSherpaModel(folder, int8 !== undefined)
    const hotwordOptions = {
      hotwords: 'hotwords.txt',
      decodingMethod: 'modified_beam_search',
      ...(bpeVocab === undefined ? { modelingUnit: 'cjkchar' } : { modelingUnit: 'bpe', bpeVocab }),
    }
    const names = hotwords === undefined || bpeVocab === undefined ? files : [...files, bpeVocab]
    return {
      options: {
        ...options,
        ...(rate !== undefined && { sampleRateHz: Number(rate) }),
        ...(hotwords !== undefined && hotwordOptions),
      },
      files: {
        ...Object.fromEntries(names.map((name) => [name, join(folder, name)])),
        ...(hotwords !== undefined && { 'hotwords.txt': hotwords }),
      },
    }
  },
}
