import { spawn } from 'node:child_process'
import { sanitizePeerText } from '../../../errors/refusal.js'
import { workerFile } from '../pool/decoder-worker.js'
import type { ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-files.js'
import type { SherpaSettings } from './worker-settings.js'

/** A large model takes a while to load from a slow disk. */
const tryWithinMs = 120_000
const longestReport = 4_096

/**
 * Loads the model in a process of its own first: files that are no models, or do not belong together, make the native
 * library end its process, which must not be the service. Rejects with `invalid-model`; what the library said is the
 * cause.
 */
export const tryInProcess = (model: ModelDescription, settings: SherpaSettings): Promise<void> =>
  new Promise((resolve, reject) => {
    const file = workerFile('sherpa-onnx/trial.js')
    const child = spawn(process.execPath, [file], { stdio: ['pipe', 'ignore', 'pipe'], timeout: tryWithinMs })
    let said = ''
    const refuse = (): void => {
      const sentence = 'sherpa-onnx does not load its files; check that they are whole and belong together.'
      reject(invalidModel(model, sentence, new Error(sanitizePeerText(said))))
    }
    child.stderr.setEncoding('utf8').on('data', (part: string) => (said = (said + part).slice(-longestReport)))
    // It may end before it has read what it shall do
    child.stdin.on('error', () => undefined)
    child.once('error', refuse)
    child.once('close', (code) => (code === 0 ? resolve() : refuse()))
    child.stdin.end(JSON.stringify(settings))
  })
