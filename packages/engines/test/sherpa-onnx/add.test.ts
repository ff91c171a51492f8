import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { addFolder } from '../../src/sherpa-onnx/add.js'
import { onnxFile } from './onnx.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()
beforeAll(() => {
  const network = onnxFile({ inputs: [], outputs: [], constants: [], operators: [], metadata: {} })
  for (const name of ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'encoder.int8.onnx']) {
    writeFileSync(join(folder, name), network)
  }
  writeFileSync(join(folder, 'tokens.txt'), 'a 0\n')
})

const files = ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt']
const inFolder = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, join(folder, name)]))

describe('a model of a folder', () => {
  it('has the files of its type under their own names', async () => {
    const content = await addFolder.plan({ sherpaOnnx: folder })
    expect(content.options).toMatchObject({ tokens: 'tokens.txt', transducer: { encoder: 'encoder.onnx' } })
    expect(content.files).toEqual(inFolder(files))
  })

  it('has the rate that was given as a number', async () => {
    expect((await addFolder.plan({ sherpaOnnx: folder })).options).not.toHaveProperty('sampleRateHz')
    expect((await addFolder.plan({ sherpaOnnx: folder, rate: '8000' })).options).toHaveProperty('sampleRateHz', 8000)
  })

  it('has hotwords with the search and the units that they need', async () => {
    const given = { sherpaOnnx: folder, hotwords: 'my/names.txt' }
    const content = await addFolder.plan(given)
    const search = { hotwords: 'hotwords.txt', decodingMethod: 'modified_beam_search' }
    expect(content.options).toMatchObject({ ...search, modelingUnit: 'cjkchar' })
    expect(content.files).toEqual({ ...inFolder(files), 'hotwords.txt': 'my/names.txt' })
    writeFileSync(join(folder, 'bpe.vocab'), '▁a 0\n')
    const ofPieces = await addFolder.plan(given)
    expect(ofPieces.options).toMatchObject({ ...search, modelingUnit: 'bpe', bpeVocab: 'bpe.vocab' })
    expect(ofPieces.files).toHaveProperty(['bpe.vocab'], join(folder, 'bpe.vocab'))
  })

  it('takes the networks of 8 bits if that is asked for', async () => {
    const { files: taken } = await addFolder.plan({ sherpaOnnx: folder, int8: 'true' })
    expect(taken).toHaveProperty(['encoder.int8.onnx'])
    expect(taken).not.toHaveProperty(['encoder.onnx'])
  })
})
