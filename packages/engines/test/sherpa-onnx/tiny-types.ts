import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelDescription } from '../../src/engine.js'
import { onnxFile, type Constant, type OnnxModel, type Operator, type Port } from './onnx.js'
import { randomNumbers, randomTensor, wholeNumbers } from './tiny-model.js'

// Small networks with random weights, with the inputs, outputs and metadata that the package requires of each type.
// Each frame has a token that depends on its audio alone, unless it says otherwise.

/**
 * `<blk>` separates tokens, and stands at the beginning, which is where a package looks that does not look for its
 * name.
 */
const tokens = ['<blk>', '▁for', '▁ten', '▁of', '▁clubs', '▁go', 'ward', 'ly', '▁red']
const size = tokens.length
const repeated = (count: number, value: number): string => Array.from({ length: count }, () => value).join(',')
const next = randomNumbers(7)
/** Those of a token have the sum 0, so that the shape of the features decides, and not their level. */
const weights = (rows: number, scale = 1): Constant => {
  const values = Float32Array.from({ length: rows * size }, () => next() * scale)
  for (let token = 0; token < size; token += 1) {
    const column = values.filter((_value, at) => at % size === token)
    const mean = column.reduce((sum, value) => sum + value, 0) / rows
    for (let at = token; at < values.length; at += size) values[at] = (column[(at - token) / size] ?? 0) - mean
  }
  return { name: 'weights', shape: [rows, size], values }
}
const lengths: Port = { name: 'lengths', type: 'int64', shape: ['N'] }
const lengthsOut: Port = { name: 'lengths_out', type: 'int64', shape: ['N'] }
const logits = (...shape: readonly (string | number)[]): Port => ({
  name: 'logits',
  type: 'float',
  shape: [...shape, size],
})
const score: Operator = { type: 'MatMul', inputs: ['x', 'weights'], outputs: ['logits'] }
const keep = (from: string, to: string): Operator => ({ type: 'Identity', inputs: [from], outputs: [to] })

/** Features in, scores of each frame out, with the lengths of both. */
const ofFrames = (features: number, metadata: OnnxModel['metadata'] = {}): OnnxModel => ({
  inputs: [{ name: 'x', type: 'float', shape: ['N', 'T', features] }, lengths],
  outputs: [logits('N', 'T'), lengthsOut],
  constants: [weights(features)],
  operators: [score, keep('lengths', 'lengths_out')],
  metadata,
})

/** States of streams that nothing changes. */
const kept = (states: readonly Port[]) => ({
  inputs: states,
  outputs: states.map((state) => ({ ...state, name: `new_${state.name}` })),
  operators: states.map(({ name }) => keep(name, `new_${name}`)),
})

const cmvn = (count: number, mean: string, deviation: string) => ({
  [mean]: repeated(count, 0),
  [deviation]: repeated(count, 1),
})
/** Seven frames become one. */
const stacked = 560
const lowFrameRate = {
  vocab_size: size,
  lfr_window_size: 7,
  lfr_window_shift: 6,
  ...cmvn(stacked, 'neg_mean', 'inv_stddev'),
}

const senseVoice = (): OnnxModel => {
  const small = (name: string): Port => ({ name, type: 'int32', shape: ['N'] })
  return {
    inputs: [
      { name: 'x', type: 'float', shape: ['N', 'T', stacked] },
      small('lengths'),
      small('language'),
      small('text_norm'),
    ],
    outputs: [logits('N', 'T')],
    constants: [weights(stacked)],
    operators: [score],
    metadata: {
      ...{ ...lowFrameRate, normalize_samples: 0, comment: 'x', with_itn: 14, without_itn: 15 },
      ...{ lang_auto: 0, lang_zh: 3, lang_en: 4, lang_yue: 7, lang_ja: 11, lang_ko: 12 },
    },
  }
}

/** Without times of tokens. */
const paraformer = (): OnnxModel => ({
  inputs: [
    { name: 'x', type: 'float', shape: ['N', 'T', stacked] },
    { name: 'lengths', type: 'int32', shape: ['N'] },
  ],
  outputs: [logits('N', 'T'), { name: 'token_num', type: 'int32', shape: ['N'] }],
  constants: [weights(stacked)],
  operators: [score, keep('lengths', 'token_num')],
  metadata: lowFrameRate,
})

/** Reads samples, 20 ms of which become a frame. */
const omnilingual = (): OnnxModel => ({
  inputs: [{ name: 'x', type: 'float', shape: ['N', 'S'] }],
  outputs: [logits('N', 'T')],
  constants: [wholeNumbers('one', [1]), randomTensor('kernel', [size, 1, 320], 1, next)],
  operators: [
    { type: 'Unsqueeze', inputs: ['x', 'one'], outputs: ['channel'] },
    {
      type: 'Conv',
      inputs: ['channel', 'kernel'],
      outputs: ['columns'],
      attributes: { strides: [320], kernel_shape: [320] },
    },
    { type: 'Transpose', inputs: ['columns'], outputs: ['logits'], attributes: { perm: [0, 2, 1] } },
  ],
})

const teleSpeech = (): OnnxModel => ({
  inputs: [{ name: 'x', type: 'float', shape: [1, 'T', 40] }],
  outputs: [logits('T', 1)],
  constants: [weights(40)],
  operators: [
    { type: 'MatMul', inputs: ['x', 'weights'], outputs: ['rows'] },
    { type: 'Transpose', inputs: ['rows'], outputs: ['logits'], attributes: { perm: [1, 0, 2] } },
  ],
  metadata: { model_type: 'telespeech_ctc' },
})

const tdnn = (): OnnxModel => ({
  inputs: [{ name: 'x', type: 'float', shape: ['N', 'T', 23] }],
  outputs: [logits('N', 'T')],
  constants: [weights(23)],
  operators: [score],
  metadata: { model_type: 'tdnn', vocab_size: size },
})

/** Takes a mask of the frames in place of their number. */
const medAsr = (): OnnxModel => ({
  inputs: [
    { name: 'x', type: 'float', shape: ['N', 'T', 128] },
    { name: 'mask', type: 'int64', shape: ['N', 'T'] },
  ],
  outputs: [logits('N', 'T'), lengthsOut],
  constants: [wholeNumbers('second', [1]), weights(128)],
  operators: [
    score,
    { type: 'ReduceSum', inputs: ['mask', 'second'], outputs: ['lengths_out'], attributes: { keepdims: 0 } },
  ],
  metadata: { model_type: 'medasr_ctc', vocab_size: size, subsampling_factor: 1 },
})

const window = 16
const streamingNemo = (): OnnxModel => {
  const states = kept([
    { name: 'channels', type: 'float', shape: ['N', 1, 2, 2] },
    { name: 'time', type: 'float', shape: ['N', 1, 2, 2] },
    { name: 'channels_len', type: 'int64', shape: ['N'] },
  ])
  const dims = (name: string) => ({ [`${name}_dim1`]: 1, [`${name}_dim2`]: 2, [`${name}_dim3`]: 2 })
  return {
    inputs: [{ name: 'audio', type: 'float', shape: ['N', 80, window] }, lengths, ...states.inputs],
    outputs: [logits('N', 2), lengthsOut, ...states.outputs],
    constants: [wholeNumbers('rows', [0, 2, 640]), weights(640)],
    operators: [
      { type: 'Transpose', inputs: ['audio'], outputs: ['frames'], attributes: { perm: [0, 2, 1] } },
      { type: 'Reshape', inputs: ['frames', 'rows'], outputs: ['x'] },
      ...[score, keep('lengths', 'lengths_out'), ...states.operators],
    ],
    metadata: {
      ...{ window_size: window, chunk_shift: window, subsampling_factor: 8, vocab_size: size - 1 },
      ...{ model_type: 'EncDecCTCModelBPE', ...dims('cache_last_channel'), ...dims('cache_last_time') },
    },
  }
}

/** One layer of which the states are kept. */
const streamingZipformer = (): OnnxModel => {
  const state = (name: string, ...shape: readonly (number | string)[]): Port => ({ name, type: 'float', shape })
  const states = kept([
    ...[state('key', 2, 'N', 4), state('nonlin', 1, 'N', 2, 6), state('val1', 2, 'N', 4), state('val2', 2, 'N', 4)],
    ...[state('conv1', 'N', 8, 1), state('conv2', 'N', 8, 1), state('embed', 'N', 128, 3, 19)],
    { name: 'processed', type: 'int64', shape: ['N'] },
  ])
  return {
    inputs: [{ name: 'frames', type: 'float', shape: ['N', window, 80] }, ...states.inputs],
    outputs: [logits('N', 4), ...states.outputs],
    constants: [wholeNumbers('rows', [0, 4, 320]), weights(320)],
    operators: [{ type: 'Reshape', inputs: ['frames', 'rows'], outputs: ['x'] }, score, ...states.operators],
    metadata: {
      ...{ model_type: 'zipformer2', T: window, decode_chunk_len: window, encoder_dims: 8, query_head_dims: 4 },
      ...{ value_head_dims: 4, num_heads: 1, num_encoder_layers: 1, cnn_module_kernels: 3, left_context_len: 2 },
    },
  }
}

/** 300 ms of samples become ten frames. */
const tOne = (): OnnxModel => {
  const states = kept([{ name: 'state', type: 'float16', shape: ['N', 4] }])
  return {
    inputs: [{ name: 'samples', type: 'int32', shape: ['N', 2400, 1] }, ...states.inputs],
    outputs: [logits('N', 10), ...states.outputs],
    constants: [wholeNumbers('rows', [0, 10, 240]), weights(240, 0.01)],
    operators: [
      { type: 'Cast', inputs: ['samples'], outputs: ['numbers'], attributes: { to: 1 } },
      { type: 'Reshape', inputs: ['numbers', 'rows'], outputs: ['x'] },
      ...[score, ...states.operators],
    ],
    metadata: { frame_length_ms: 300, state_dim: 4, sample_rate: 8000 },
  }
}

const width = 8
const paraformerEncoder = (): OnnxModel => ({
  inputs: [
    { name: 'x', type: 'float', shape: ['N', 'T', stacked] },
    { name: 'lengths', type: 'int32', shape: ['N'] },
  ],
  outputs: [
    { name: 'encoded', type: 'float', shape: ['N', 'T', width] },
    { name: 'lengths_out', type: 'int32', shape: ['N'] },
    { name: 'alphas', type: 'float', shape: ['N', 'T'] },
  ],
  constants: [
    wholeNumbers('last', [2]),
    randomTensor('to_vectors', [stacked, width], 0.1, next),
    randomTensor('to_alphas', [stacked, 1], 0.1, next),
  ],
  operators: [
    { type: 'MatMul', inputs: ['x', 'to_vectors'], outputs: ['encoded'] },
    { type: 'MatMul', inputs: ['x', 'to_alphas'], outputs: ['scores'] },
    { type: 'Sigmoid', inputs: ['scores'], outputs: ['columns'] },
    { type: 'Squeeze', inputs: ['columns', 'last'], outputs: ['alphas'] },
    keep('lengths', 'lengths_out'),
  ],
  metadata: { ...lowFrameRate, encoder_output_size: width, decoder_num_blocks: 1, decoder_kernel_size: 3 },
})

const paraformerDecoder = (): OnnxModel => {
  const states = kept([{ name: 'cache', type: 'float', shape: ['N', width, 2] }])
  return {
    inputs: [
      { name: 'encoded', type: 'float', shape: ['N', 'T', width] },
      { name: 'lengths', type: 'int32', shape: ['N'] },
      { name: 'x', type: 'float', shape: ['N', 't', width] },
      { name: 'x_lengths', type: 'int32', shape: ['N'] },
      ...states.inputs,
    ],
    outputs: [logits('N', 't'), { name: 'ids', type: 'int64', shape: ['N', 't'] }, ...states.outputs],
    constants: [weights(width)],
    operators: [
      score,
      { type: 'ArgMax', inputs: ['logits'], outputs: ['ids'], attributes: { axis: 2, keepdims: 0 } },
      ...states.operators,
    ],
  }
}

/** The files of each type, by their keys, and what `model.json` has beside them. */
const types = {
  zipformerCtc: { files: { model: ofFrames(80) } },
  wenetCtc: { files: { model: ofFrames(80, { vocab_size: size, subsampling_factor: 1 }) } },
  teleSpeechCtc: { files: { model: teleSpeech() } },
  omnilingual: { files: { model: omnilingual() } },
  dolphin: { files: { model: ofFrames(80, { vocab_size: size, ...cmvn(80, 'mean', 'invstd') }) } },
  medasr: { files: { model: medAsr() } },
  fireRedAsrCtc: {
    files: { model: ofFrames(80, { model_type: 'fire-red-asr-2-ctc', ...cmvn(80, 'cmvn_mean', 'cmvn_inv_stddev') }) },
  },
  tdnn: { files: { model: tdnn() } },
  senseVoice: { files: { model: senseVoice() } },
  paraformer: { files: { model: paraformer() } },
  'streaming nemoCtc': { files: { model: streamingNemo() } },
  'streaming zipformer2Ctc': { files: { model: streamingZipformer() } },
  'streaming toneCtc': { files: { model: tOne() } },
  'streaming paraformer': { files: { encoder: paraformerEncoder(), decoder: paraformerDecoder() } },
} satisfies Record<string, { readonly files: Readonly<Record<string, OnnxModel>> }>

export type TinyType = keyof typeof types
export const tinyTypes = Object.keys(types) as readonly TinyType[]

/** Writes a model of the type into a new folder. */
export const tinyTypeModel = (type: TinyType): ModelDescription => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-sherpa-type-'))
  const { files } = types[type]
  const named = Object.entries(files).map(([key, network]) => {
    writeFileSync(join(folder, `${key}.onnx`), onnxFile(network))
    return [key, `${key}.onnx`]
  })
  // NeMo has its blank last.
  const all = type.endsWith('paraformer') ? tokens.with(1, '</s>') : tokens
  const ordered = type === 'streaming nemoCtc' ? [...all.slice(1), '<blk>'] : all
  writeFileSync(join(folder, 'tokens.txt'), ordered.map((token, id) => `${token} ${id}\n`).join(''))
  const key = type.split(' ').at(-1) ?? type
  const options = { engine: 'sherpa-onnx', [key]: Object.fromEntries(named), tokens: 'tokens.txt' }
  return { tenant: 'Default', name: 'tiny', version: '1', folder, options }
}
