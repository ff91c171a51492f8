import { join } from 'node:path'
import { decodeChannels } from '../../../../src/audio/codec.js'
import { createResampler } from '../../../server/src/recognition/resampler.js'
import type { ModelDescription } from '../../src/engine.js'
import type { ReadRequest } from '../../src/offline/reader.js'
import { openWorkerPool } from '../../src/pool/worker-engine.js'
import type { PoolWorker } from '../../src/pool/worker-pool.js'
import { readSherpaModel } from '../../src/sherpa-onnx/model.js'
import type { SherpaSettings } from '../../src/sherpa-onnx/package.js'
import { createPoolReader, type PoolReader } from '../../src/sherpa-onnx/reader.js'
import { inProcesses } from '../../src/sherpa-onnx/sherpa-onnx.js'
import { readRecording } from '../../../../test/audio/read-recording.js'

const embedded = join(__dirname, '../../../rxspeech-whisper-tiny-en/models/Default/English/1')

/** The embedded model, in its folder or in another with the same names. */
export const whisperModel = (
  folder = embedded,
  change: Readonly<Record<string, unknown>> = {},
  prefix = 'tiny.en',
): ModelDescription => ({
  tenant: 'Default',
  name: 'English',
  version: '1',
  folder,
  options: {
    engine: 'sherpa-onnx',
    whisper: { encoder: `${prefix}-encoder.int8.onnx`, decoder: `${prefix}-decoder.int8.onnx` },
    tokens: `${prefix}-tokens.txt`,
    ...change,
  },
})

/** What was said between two times of a channel of the sample call, at 16 kHz. */
export const spoken = async (channel: number, startMs: number, endMs: number): Promise<Int16Array> => {
  const { bytes, format } = await readRecording('samples/call.wav')
  const resampler = await createResampler({ fromHz: 8000, toHz: 16_000, channels: 1 })
  const samples = decodeChannels(bytes, format)[channel]?.slice(startMs * 8, endMs * 8) ?? new Int16Array(0)
  const parts = [resampler.process(samples), resampler.flush()]
  resampler.free()
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

/** A reader of one process, and all that were started for it. */
export const openReader = async (
  model: ModelDescription,
  change: Partial<SherpaSettings> = {},
): Promise<{ readonly reader: PoolReader; readonly workers: PoolWorker[]; readonly read: Read }> => {
  const { settings, hasTimes } = await readSherpaModel(model, 1)
  const workers: PoolWorker[] = []
  const pool = await openWorkerPool(model, {
    start: (events) => {
      const worker = inProcesses({ ...settings, ...change })(events)
      workers.push(worker)
      return worker
    },
    startWithinMs: 60_000,
    workers: 1,
    decodersPerWorker: 1,
    frameSamples: 16_000,
  })
  const reader = createPoolReader(pool, 16_000, hasTimes)
  const read: Read = (samples, more = {}) =>
    reader.read({ samples, purpose: 'final', ...more }, new AbortController().signal)
  return { reader, workers, read }
}

type Read = (samples: Int16Array, more?: Partial<ReadRequest>) => ReturnType<PoolReader['read']>
