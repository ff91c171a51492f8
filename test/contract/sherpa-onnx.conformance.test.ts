import { rmSync } from 'node:fs'
import { afterAll } from 'vitest'
import { createSherpaOnnx } from '../../src/service/engines/sherpa-onnx/sherpa-onnx.js'
import { fakeThreads } from '../service/engines/sherpa-onnx/fake-sherpa.js'
import { sherpaFolder, sherpaModel } from '../service/engines/sherpa-onnx/model-folder.js'
import { engineConformance } from './engine-conformance.js'

const folder = sherpaFolder()
afterAll(() => rmSync(folder, { recursive: true }))

const open = (change: Readonly<Record<string, unknown>> = {}, threads = fakeThreads()) =>
  createSherpaOnnx(threads).open(sherpaModel(folder, { segmentsAtOnce: 2, ...change }))

/** Three seconds of a loud tone between silence, which the recognizer of the test treats as speech. */
const tone = (): Int16Array =>
  Int16Array.from({ length: 48_000 }, (_, at) => (at > 4_800 && at < 41_600 ? 8000 * Math.sin(at / 5) : 0))

engineConformance(
  'sherpa-onnx with a recognizer of the test',
  async () => {
    const threads = fakeThreads()
    return { engine: await open({}, threads), crash: threads.crash }
  },
  {
    speech: () => Promise.resolve(tone()),
    text: /^ten of clubs$/,
    openWrongRate: () => open({ sampleRateHz: 11_025 }),
  },
)
