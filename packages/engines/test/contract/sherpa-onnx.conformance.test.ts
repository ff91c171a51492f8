import { rmSync } from 'node:fs'
import { afterAll } from 'vitest'
import { createSherpaOnnx, inProcesses } from '../../src/sherpa-onnx/sherpa-onnx.js'
import type { PoolWorker } from '../../src/pool/worker-pool.js'
import { tinyModel, tinySherpaModel } from '../sherpa-onnx/tiny-model.js'
import { engineConformance } from './engine-conformance.js'

const folder = tinySherpaModel()
afterAll(() => rmSync(folder, { recursive: true }))

/** Three seconds of a loud tone between silence. The model finds words in everything. */
const tone = (): Int16Array =>
  Int16Array.from({ length: 48_000 }, (_, at) => (at > 4_800 && at < 41_600 ? 8000 * Math.sin(at / 5) : 0))

engineConformance(
  'sherpa-onnx with random weights',
  async () => {
    const workers: PoolWorker[] = []
    const kind = createSherpaOnnx((settings) => (events) => {
      const worker = inProcesses(settings)(events)
      workers.push(worker)
      return worker
    })
    const engine = await kind.open(tinyModel(folder, { sampleRateHz: 16_000, segmentsAtOnce: 2 }))
    // The pool does not know who killed the process.
    return { engine, crash: () => Promise.all(workers.map((worker) => worker.terminate())).then(() => undefined) }
  },
  {
    speech: () => Promise.resolve(tone()),
    text: /\w/,
    quietText: /^/,
    openWrongRate: () => createSherpaOnnx(inProcesses).open(tinyModel(folder, { sampleRateHz: 11_025 })),
  },
)
