import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ModelDescription } from '../../../../src/service/engines/engine.js'

/** A folder with files that are not models. */
export const sherpaFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-sherpa-'))
  for (const name of ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'ctc.onnx', 'tokens.txt', 'hotwords.txt']) {
    writeFileSync(join(folder, name), 'no model')
  }
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
