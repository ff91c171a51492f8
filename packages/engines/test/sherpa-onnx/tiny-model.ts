import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelDescription } from '../../src/engine.js'
import { onnxFile, type Constant, type Operator } from './onnx.js'

/**
 * A streaming transducer of sherpa-onnx (`lstm`) with random weights, some 200 kB: 9 frames of 10 ms become one vector,
 * a layer of LSTM has the state, and a joiner chooses a token for each 40 ms. Its text is noise, yet it depends on the
 * audio and on the state, so what becomes of states, partials, the flush and faults is real.
 */
const width = 32
const features = 80
const frames = 9
const stride = 4
const contextSize = 2

/** The tokens: pieces of words, of which U+2581 begins one. */
const tokens = [
  '<blk>',
  '<sos/eos>',
  '<unk>',
  ...['\u2581ten', '\u2581of', '\u2581clubs', '\u2581go', '\u2581for', 'ward', '\u2581red', '\u2581a'],
]

/** Random numbers from -1 to 1, the same for each seed. */
export const randomNumbers = (seed: number) => {
  let state = seed
  return (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2 ** 31
  }
}

export const randomTensor = (name: string, shape: readonly number[], scale: number, next: () => number): Constant => {
  const size = shape.reduce((product, length) => product * length, 1)
  return { name, shape, values: Float32Array.from({ length: size }, () => next() * scale) }
}

export const wholeNumbers = (name: string, values: readonly number[]): Constant => ({
  name,
  shape: [values.length],
  values: BigInt64Array.from(values, BigInt),
})

/** Looks up a place that does not exist if a feature exceeds the limit: an error of the runtime while it decodes. */
const limit = (
  failsAbove: number,
): { readonly constants: readonly Constant[]; readonly operators: readonly Operator[] } => ({
  constants: [
    { name: 'limit', shape: [1], values: Float32Array.of(failsAbove) },
    { name: 'places', shape: [1], values: Float32Array.of(0) },
  ],
  operators: [
    { type: 'ReduceMax', inputs: ['x'], outputs: ['loudest'], attributes: { keepdims: 0 } },
    { type: 'Greater', inputs: ['loudest', 'limit'], outputs: ['exceeds'] },
    { type: 'Cast', inputs: ['exceeds'], outputs: ['place'], attributes: { to: 7 } },
    { type: 'Gather', inputs: ['places', 'place'], outputs: ['zero'] },
    { type: 'Add', inputs: ['bounded', 'zero'], outputs: ['checked'] },
  ],
})

const encoder = (next: () => number, failsAbove = Infinity): Buffer =>
  onnxFile({
    inputs: [
      { name: 'x', type: 'float', shape: ['N', frames, features] },
      { name: 'h', type: 'float', shape: [1, 'N', width] },
      { name: 'c', type: 'float', shape: [1, 'N', width] },
    ],
    outputs: [
      { name: 'encoder_out', type: 'float', shape: ['N', 1, width] },
      { name: 'next_h', type: 'float', shape: [1, 'N', width] },
      { name: 'next_c', type: 'float', shape: [1, 'N', width] },
    ],
    constants: [
      wholeNumbers('flat', [-1, frames * features]),
      randomTensor('input', [frames * features, width], 0.05, next),
      wholeNumbers('first', [0]),
      randomTensor('W', [1, 4 * width, width], 0.6, next),
      randomTensor('R', [1, 4 * width, width], 0.6, next),
      ...limit(failsAbove).constants,
    ],
    operators: [
      { type: 'Reshape', inputs: ['x', 'flat'], outputs: ['rows'] },
      { type: 'MatMul', inputs: ['rows', 'input'], outputs: ['projected'] },
      { type: 'Tanh', inputs: ['projected'], outputs: ['bounded'] },
      ...limit(failsAbove).operators,
      { type: 'Unsqueeze', inputs: ['checked', 'first'], outputs: ['sequence'] },
      {
        type: 'LSTM',
        inputs: ['sequence', 'W', 'R', '', '', 'h', 'c'],
        outputs: ['Y', 'next_h', 'next_c'],
        attributes: { hidden_size: width },
      },
      { type: 'Squeeze', inputs: ['Y', 'first'], outputs: ['layers'] },
      { type: 'Transpose', inputs: ['layers'], outputs: ['encoder_out'], attributes: { perm: [1, 0, 2] } },
    ],
    metadata: {
      model_type: 'lstm',
      num_encoder_layers: 1,
      T: frames,
      decode_chunk_len: stride,
      rnn_hidden_size: width,
      d_model: width,
    },
  })

/** The encoder of a model that reads audio as a whole: every frame of 10 ms becomes a vector. */
const offlineEncoder = (next: () => number): Buffer =>
  onnxFile({
    inputs: [
      { name: 'x', type: 'float', shape: ['N', 'T', features] },
      { name: 'x_lens', type: 'int64', shape: ['N'] },
    ],
    outputs: [
      { name: 'encoder_out', type: 'float', shape: ['N', 'T', width] },
      { name: 'encoder_out_lens', type: 'int64', shape: ['N'] },
    ],
    constants: [randomTensor('input', [features, width], 0.2, next)],
    operators: [
      { type: 'MatMul', inputs: ['x', 'input'], outputs: ['projected'] },
      { type: 'Tanh', inputs: ['projected'], outputs: ['encoder_out'] },
      { type: 'Identity', inputs: ['x_lens'], outputs: ['encoder_out_lens'] },
    ],
    metadata: { model_type: 'zipformer2' },
  })

const decoder = (next: () => number): Buffer =>
  onnxFile({
    inputs: [{ name: 'y', type: 'int64', shape: ['N', contextSize] }],
    outputs: [{ name: 'decoder_out', type: 'float', shape: ['N', width] }],
    constants: [randomTensor('embedding', [tokens.length, width], 0.5, next)],
    operators: [
      { type: 'Gather', inputs: ['embedding', 'y'], outputs: ['embedded'] },
      { type: 'ReduceMean', inputs: ['embedded'], outputs: ['decoder_out'], attributes: { axes: [1], keepdims: 0 } },
    ],
    metadata: { vocab_size: tokens.length, context_size: contextSize },
  })

const joiner = (next: () => number): Buffer =>
  onnxFile({
    inputs: [
      { name: 'encoder_out', type: 'float', shape: ['N', width] },
      { name: 'decoder_out', type: 'float', shape: ['N', width] },
    ],
    outputs: [{ name: 'logit', type: 'float', shape: ['N', tokens.length] }],
    constants: [
      randomTensor('output', [width, tokens.length], 3, next),
      // Most frames have no token, as in speech; <sos/eos> and <unk> are never right.
      {
        name: 'bias',
        shape: [tokens.length],
        values: Float32Array.from(tokens, (token) => ({ '<blk>': 3, '<sos/eos>': -100, '<unk>': -100 })[token] ?? 0),
      },
    ],
    operators: [
      { type: 'Add', inputs: ['encoder_out', 'decoder_out'], outputs: ['sum'] },
      { type: 'Tanh', inputs: ['sum'], outputs: ['bounded'] },
      { type: 'MatMul', inputs: ['bounded', 'output'], outputs: ['scores'] },
      { type: 'Add', inputs: ['scores', 'bias'], outputs: ['logit'] },
    ],
  })

export interface TinyModelOptions {
  /** The encoder fails if a feature, the logarithm of an energy, exceeds this. @default never */
  readonly failsAbove?: number
  /** Whether it reads audio as a whole. @default false */
  readonly isOffline?: boolean
  /** Changes the file of the decoder. */
  readonly spoil?: (bytes: Buffer) => Buffer
}

/** What the makers of models call their files. */
const files = { encoder: 'encoder-epoch-1.onnx', decoder: 'decoder-epoch-1.onnx', joiner: 'joiner-epoch-1.onnx' }

/** Writes the files of the model into a new folder, and returns it. */
export const tinySherpaModel = ({
  failsAbove,
  isOffline = false,
  spoil = (bytes) => bytes,
}: TinyModelOptions = {}): string => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-sherpa-tiny-'))
  const next = randomNumbers(1)
  writeFileSync(join(folder, files.encoder), isOffline ? offlineEncoder(next) : encoder(next, failsAbove))
  writeFileSync(join(folder, files.decoder), spoil(decoder(next)))
  writeFileSync(join(folder, files.joiner), joiner(next))
  // Pieces and their scores, for hotwords.
  writeFileSync(join(folder, 'bpe.vocab'), tokens.map((token) => `${token}\t-1\n`).join(''))
  writeFileSync(join(folder, 'tokens.txt'), tokens.map((token, id) => `${token} ${id}\n`).join(''))
  return folder
}

export const tinyModel = (folder: string, change: Readonly<Record<string, unknown>> = {}): ModelDescription => ({
  tenant: 'Default',
  name: 'tiny',
  version: '1',
  folder,
  options: { engine: 'sherpa-onnx', tokens: 'tokens.txt', transducer: files, sampleRateHz: 8000, ...change },
})

/** The processes of this engine that this process has started. */
export const workerPids = (): readonly number[] =>
  readdirSync('/proc').flatMap((name) => {
    try {
      const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      const isWorker = readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('sherpa-onnx/worker.js')
      return isWorker && Number(parent) === process.pid ? [Number(name)] : []
    } catch {
      return []
    }
  })
