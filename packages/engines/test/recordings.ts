import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createResampler } from '../../server/src/recognition/resampler.js'
import type { SegmentPart } from '../src/engine.js'

const folder = join(__dirname, '../../../../shared/audio')
export const recordingsAreHere = existsSync(folder)
export const recordingsTitle = recordingsAreHere ? 'human speech' : 'human speech (skipped: the recordings are missing)'

/** A recording of 16 kHz as samples of 8 kHz. */
export const recording = async (file: string): Promise<Int16Array> => {
  const bytes = readFileSync(join(folder, file))
  const at = file.endsWith('.wav') ? 44 : 0
  const samples = Int16Array.from({ length: (bytes.length - at) >> 1 }, (_, index) => bytes.readInt16LE(at + 2 * index))
  const resampler = await createResampler({ fromHz: 16000, toHz: 8000, channels: 1 })
  const parts = [resampler.process(samples), resampler.flush()]
  resampler.free()
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

/** Always the same noise, at the level of a quiet telephone line. */
export const lineNoise = (sampleCount: number, peak = 30): Int16Array => {
  let state = 12345
  return Int16Array.from({ length: sampleCount }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return Math.round((state / 2 ** 31 - 1) * peak)
  })
}

/** Speech as voice activity cuts it, with 300 ms before and 400 ms after it. */
export const withLineNoise = (speech: Int16Array): Int16Array => {
  const samples = lineNoise(2400 + speech.length + 3200)
  for (const [at, sample] of speech.entries()) {
    samples[2400 + at] = Math.min(Math.max((samples[2400 + at] ?? 0) + sample, -32768), 32767)
  }
  return samples
}

/** One segment in chunks of `chunkSamples`. */
export const segmentParts = (samples: Int16Array, startMs = 0, chunkSamples = 160): readonly SegmentPart[] => {
  const parts: SegmentPart[] = [{ type: 'open', startMs }]
  for (let at = 0; at < samples.length; at += chunkSamples) {
    parts.push({ type: 'audio', samples: samples.slice(at, at + chunkSamples) })
  }
  return [...parts, { type: 'close', endMs: startMs + Math.round(samples.length / 8) }]
}
