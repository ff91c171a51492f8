import { writeFile } from 'node:fs/promises'
import { deinterleaveChannels } from '../../../../src/audio/channels.js'
import { decodeMuLaw } from '../../../../src/audio/g711.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { createResampler } from '../../../server/src/recognition/resampler.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { callFile } from '../interop/sample-call.js'

const playedHz = 48_000

/** A part of a channel of the sample call, in milliseconds, or silence of a length. */
export type Part = { readonly fromMs: number; readonly toMs: number } | { readonly silenceMs: number }

/** Writes parts of what the restaurant says in the sample call to a WAV file for browsers, in the given order. */
export const writeSpokenWav = async (path: string, parts: readonly Part[]): Promise<void> => {
  const { format, bytes } = await readRecording(callFile)
  const [restaurant] = deinterleaveChannels(bytes, 1)
  const perMs = format.sampleRateHz / 1000
  const samples = parts.map((part) =>
    'silenceMs' in part
      ? new Int16Array(part.silenceMs * perMs)
      : decodeMuLaw(restaurant.subarray(part.fromMs * perMs, part.toMs * perMs)),
  )
  const resampler = await createResampler({ fromHz: format.sampleRateHz, toHz: playedHz, channels: 1 })
  const audio = [...samples.map((each) => resampler.process(each).slice()), resampler.flush()].map((each) =>
    bytesOf(each),
  )
  resampler.free()
  const data = Buffer.concat(audio)
  const header = wavHeader({ encoding: 'pcm', sampleRateHz: playedHz, channels: 1 }, data.byteLength)
  await writeFile(path, Buffer.concat([header, data]))
}
