// Recordings of free speech with what is said in them, for the bench and the table of voice activity.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createResampler } from '../../packages/server/dist/recognition/resampler.js'

export const recordingsFolder = process.env['RECORDINGS'] ?? new URL('../../../shared/audio', import.meta.url).pathname

export const joined = (...parts) => {
  const whole = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

export const resampled = async (samples, fromHz, toHz) => {
  if (fromHz === toHz) return samples
  const resampler = await createResampler({ fromHz, toHz, channels: 1 })
  const parts = [resampler.process(samples).slice(), resampler.flush().slice()]
  resampler.free()
  return joined(...parts)
}

/** The recording NAME.wav of 16 bits mono with its text NAME.txt; undefined if the folder has none. */
export const recordingOf = (name) => {
  const file = join(recordingsFolder, `${name}.wav`)
  if (!existsSync(file)) return undefined
  const bytes = readFileSync(file)
  const data = bytes.subarray(bytes.indexOf('data') + 8)
  return {
    name,
    rateHz: bytes.readUInt32LE(24),
    samples: Int16Array.from({ length: data.length >> 1 }, (_none, at) => data.readInt16LE(2 * at)),
    text: readFileSync(join(recordingsFolder, `${name}.txt`), 'utf8'),
  }
}
