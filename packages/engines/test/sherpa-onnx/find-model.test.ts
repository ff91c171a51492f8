import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findSherpaModel } from '../../src/sherpa-onnx/find-model.js'
import { onnxFile } from './onnx.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const root = temporaryFolder()

/** Writes files that say the types of their networks, and returns the folder. */
const folderOf = (name: string, files: Readonly<Record<string, Readonly<Record<string, string>>>>): string => {
  const folder = join(root, name)
  for (const [file, metadata] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), onnxFile({ inputs: [], outputs: [], constants: [], operators: [], metadata }))
  }
  return folder
}

describe('findSherpaModel', () => {
  it.each<readonly [string, Readonly<Record<string, Readonly<Record<string, string>>>>, object]>([
    [
      'sherpa-onnx-whisper-tiny',
      {
        'tiny-encoder.int8.onnx': {},
        'tiny-decoder.int8.onnx': {},
        'tiny-encoder.onnx': {},
        'tiny-decoder.onnx': {},
        'tiny-tokens.txt': {},
      },
      { whisper: { encoder: 'tiny-encoder.int8.onnx', decoder: 'tiny-decoder.int8.onnx' }, tokens: 'tiny-tokens.txt' },
    ],
    [
      'sherpa-onnx-nemo-canary-180m-flash',
      { 'encoder.int8.onnx': { model_type: 'EncDecMultiTaskModel' }, 'decoder.int8.onnx': {}, 'tokens.txt': {} },
      { canary: { encoder: 'encoder.int8.onnx', decoder: 'decoder.int8.onnx' }, tokens: 'tokens.txt' },
    ],
    [
      'my-model',
      { 'encoder.onnx': {}, 'decoder.onnx': {}, 'tokens.txt': {} },
      { paraformer: { encoder: 'encoder.onnx' } },
    ],
    [
      'speech',
      { 'model.onnx': { model_type: 'EncDecCTCModelBPE' }, 'tokens.txt': {} },
      { nemoCtc: { model: 'model.onnx' } },
    ],
    ['sense-voice-zh', { 'model.int8.onnx': {}, 'tokens.txt': {} }, { senseVoice: { model: 'model.int8.onnx' } }],
    ['streaming-t-one-russian', { 'model.onnx': {}, 'tokens.txt': {} }, { toneCtc: { model: 'model.onnx' } }],
    [
      'moonshine-1',
      {
        'preprocess.onnx': {},
        'encode.int8.onnx': {},
        'uncached_decode.int8.onnx': {},
        'cached_decode.int8.onnx': {},
        'tokens.txt': {},
      },
      { moonshine: { uncachedDecoder: 'uncached_decode.int8.onnx', cachedDecoder: 'cached_decode.int8.onnx' } },
    ],
    [
      'moonshine-2',
      { 'encoder_model.ort': {}, 'decoder_model_merged.ort': {}, 'tokens.txt': {} },
      { moonshine: { encoder: 'encoder_model.ort', mergedDecoder: 'decoder_model_merged.ort' } },
    ],
    [
      'qwen',
      { 'conv_frontend.onnx': {}, 'encoder.onnx': {}, 'decoder.onnx': {}, 'tokenizer/vocab.json': {} },
      { qwen3Asr: { tokenizer: 'tokenizer', convFrontend: 'conv_frontend.onnx' } },
    ],
    [
      'cohere',
      {
        'encoder.int8.onnx': { model_type: 'cohere-transcribe' },
        'encoder.int8.onnx.data': {},
        'decoder.int8.onnx': {},
        'tokens.txt': {},
      },
      { cohereTranscribe: { encoder: 'encoder.int8.onnx' } },
    ],
  ])('finds the type and the files of %s', async (name, files, options) => {
    const found = await findSherpaModel(folderOf(name, files), true)
    expect(found.options).toMatchObject(options)
    expect(found.files.includes('encoder.int8.onnx.data')).toBe(name === 'cohere')
    expect(found.files.includes('tokenizer/vocab.json')).toBe(name === 'qwen')
  })
})
