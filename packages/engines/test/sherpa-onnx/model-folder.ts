import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelDescription } from '../../src/engine.js'
import { onnxFile, type OnnxModel } from './onnx.js'

const emptyNetwork = (metadata: OnnxModel['metadata'] = {}): Buffer =>
  onnxFile({ inputs: [], outputs: [], constants: [], operators: [], metadata })

/** A folder with files of ONNX that are not models of speech. */
export const sherpaFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-sherpa-'))
  for (const name of ['decoder.onnx', 'joiner.onnx', 'ctc.onnx']) writeFileSync(join(folder, name), emptyNetwork())
  writeFileSync(join(folder, 'encoder.onnx'), emptyNetwork({ T: 9 }))
  writeFileSync(
    join(folder, 'whisper.onnx'),
    emptyNetwork({ sot_sequence: '4,5', is_multilingual: 1, all_language_codes: 'en,fr' }),
  )
  writeFileSync(join(folder, 'text.onnx'), 'no model')
  for (const name of ['tokens.txt', 'hotwords.txt']) writeFileSync(join(folder, name), 'a 0\nb 1\nc 2\n')
  return folder
}

export const transducer = { encoder: 'encoder.onnx', decoder: 'decoder.onnx', joiner: 'joiner.onnx' }

export const sherpaModel = (folder: string, change: Readonly<Record<string, unknown>> = {}): ModelDescription => ({
  tenant: 'Default',
  name: 'english',
  version: '1',
  folder,
  options: { engine: 'sherpa-onnx', tokens: 'tokens.txt', transducer, ...change },
})
