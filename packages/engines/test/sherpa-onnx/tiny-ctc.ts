import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelDescription } from '../../src/engine.js'
import { onnxFile } from './onnx.js'
import { randomNumbers, randomTensor } from './tiny-model.js'

const features = 80
const tokens = ['▁ten', '▁of', '▁clubs', '▁go', 'ward', 'ly', '<blk>']

/** An offline CTC model in the form of NeMo with random weights: each frame of 10 ms has a token. It needs no state. */
const network = (): Buffer =>
  onnxFile({
    inputs: [
      { name: 'audio_signal', type: 'float', shape: ['N', features, 'T'] },
      { name: 'length', type: 'int64', shape: ['N'] },
    ],
    outputs: [{ name: 'logprobs', type: 'float', shape: ['N', 'T', tokens.length] }],
    constants: [randomTensor('weights', [features, tokens.length], 1, randomNumbers(3))],
    operators: [
      { type: 'Transpose', inputs: ['audio_signal'], outputs: ['frames'], attributes: { perm: [0, 2, 1] } },
      { type: 'MatMul', inputs: ['frames', 'weights'], outputs: ['scores'] },
      { type: 'LogSoftmax', inputs: ['scores'], outputs: ['logprobs'], attributes: { axis: 2 } },
    ],
    metadata: {
      model_type: 'EncDecCTCModelBPE',
      vocab_size: tokens.length - 1,
      subsampling_factor: 1,
      normalize_type: 'per_feature',
    },
  })

/** Writes the model into a new folder. */
export const tinyCtcModel = (): ModelDescription => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-sherpa-ctc-'))
  writeFileSync(join(folder, 'model.onnx'), network())
  writeFileSync(join(folder, 'tokens.txt'), tokens.map((token, id) => `${token} ${id}\n`).join(''))
  const options = { engine: 'sherpa-onnx', nemoCtc: { model: 'model.onnx' }, tokens: 'tokens.txt' }
  return { tenant: 'Default', name: 'ctc', version: '1', folder, options }
}
