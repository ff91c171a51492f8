import { open, readFile, stat } from 'node:fs/promises'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-json.js'
import type { SherpaType } from './model-types.js'
import { readOnnxFile, type OnnxFacts } from './onnx-file.js'
import type { SherpaSettings } from './package.js'

/** A network of a model: its metadata, and how much memory it takes at least. */
export interface Network extends OnnxFacts {
  readonly bytes: number
}

/** By the keys of their files. */
export type Networks = Readonly<Record<string, Network>>

const unknown: OnnxFacts = { metadata: {}, inputs: [], outputs: [] }

/** The format of ONNX Runtime has its name behind an offset of four bytes. */
const isOrtFile = async (path: string): Promise<boolean> => {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, 0)
    return buffer.toString('latin1', 4) === 'ORTM'
  } finally {
    await file.close()
  }
}

/** The size of a file beside the network that has its tensors; 0 without such a file. */
const externalBytes = (path: string): Promise<number> =>
  stat(`${path}.data`).then(
    ({ size }) => size,
    () => 0,
  )

/** Rejects with `invalid-model` for a file that is no network, or of which a part is missing. */
export const readNetwork = async (model: ModelDescription, name: string, path: string): Promise<Network> => {
  const { size } = await stat(path)
  const facts = (await isOrtFile(path)) ? unknown : await readOnnxFile(path)
  if (facts === undefined) {
    throw invalidModel(
      model,
      `${name} is not a whole file of ONNX; copy it again, and compare its size with the original.`,
    )
  }
  return { ...facts, bytes: size + (await externalBytes(path)) }
}

/** What only networks have that decode audio as it comes. */
const streamingKeys = ['decode_chunk_len', 'chunk_shift', 'chunk_length', 'window_size', 'left_context_len', 'T']

export const isStreamingNetwork = (networks: Networks): boolean =>
  Object.values(networks).some(({ metadata }) => streamingKeys.some((key) => key in metadata))

/** How many tokens the files of a model have by their metadata; undefined if that lacks it. */
const tokenCountOf = (type: SherpaType, networks: Networks): number | undefined => {
  const found = Object.values(networks).flatMap(({ metadata }) => {
    // The first token that is not in the file begins a transcript; the one before it ends a text.
    const start = type.key === 'whisper' ? metadata['sot_sequence']?.split(',')[0] : undefined
    const count = start === undefined ? metadata['vocab_size'] : String(Number(start) - 1)
    return count === undefined || !Number.isInteger(Number(count)) ? [] : [Number(count)]
  })
  return found[0]
}

/** Some files have a few more, for the blank and for symbols of graphs. */
const maxMoreTokens = 200

/**
 * Rejects with `invalid-model` for tokens of another model, with which the library ends its process or returns wrong
 * words. Resolves with the letters of the tokens.
 */
export const checkTokens = async (
  model: ModelDescription,
  name: string,
  path: string,
  type: SherpaType,
  networks: Networks,
): Promise<SherpaSettings['letters']> => {
  const text = await readFile(path, 'utf8')
  const count = text.split('\n').filter((line) => line.trim() !== '').length
  const expected = tokenCountOf(type, networks)
  if (count === 0) throw invalidModel(model, `${name} has no tokens.`)
  if (expected !== undefined && (count < expected || count > expected + maxMoreTokens)) {
    throw invalidModel(
      model,
      `${name} has ${count} tokens, and the model has ${expected}: it belongs to another model.`,
    )
  }
  const hasLower = /\p{Ll}/u.test(text.replaceAll(/<[^>]*>/g, ''))
  const hasUpper = /\p{Lu}/u.test(text.replaceAll(/<[^>]*>/g, ''))
  return hasLower && hasUpper ? 'both' : hasUpper ? 'upper' : 'lower'
}
