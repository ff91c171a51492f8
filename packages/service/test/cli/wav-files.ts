import { writeFileSync } from 'node:fs'
import { createResampler } from '../../../server/src/recognition/resampler.js'
import { decodeSamples, encodeSamples } from '../../../../src/audio/codec.js'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { callSamples } from './command.js'

/** Writes the first milliseconds of the sample call as a WAV file of another format; mono is its left channel. */
export const writeCall = async (path: string, format: AudioFormat, durationMs: number): Promise<void> => {
  const stereo = decodeSamples(callSamples(durationMs), 'ulaw')
  const samples = format.channels === 2 ? stereo : stereo.filter((_sample, index) => index % 2 === 0)
  const resampler = await createResampler({ fromHz: 8000, toHz: format.sampleRateHz, channels: format.channels })
  const bytes = [resampler.process(samples), resampler.flush()].map((part) => encodeSamples(part, format.encoding))
  resampler.free()
  const data = Buffer.concat(bytes)
  writeFileSync(path, Buffer.concat([wavHeader(format, data.length), data]))
}
