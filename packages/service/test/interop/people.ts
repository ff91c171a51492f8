import { existsSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeChannels } from '../../../../src/audio/codec.js'
import { createResampler } from '../../../server/src/recognition/resampler.js'
import { readRecording } from '../../../../test/audio/read-recording.js'

/** A recording of people, in the folder that `RECORDINGS` names. It is not part of the project. */
export const people = join(process.env['RECORDINGS'] ?? '../shared/audio', 'human52.wav')

export const hasPeople = existsSync(people)

/** The title of tests that need it. */
export const ofPeople = `people (${people})${hasPeople ? '' : ', which is not there; RECORDINGS names its folder'}`

/** A folder of models with one for any English, whose words do not depend on how fast the audio comes. */
export const englishModels = async (folder: string): Promise<string> => {
  const model = join(folder, 'Default/English/1')
  await cp('packages/rxspeech-whisper-tiny-en/models/Default/English/1', model, { recursive: true })
  const file = join(model, 'model.json')
  const settings = JSON.parse(await readFile(file, 'utf8')) as object
  // The audio comes faster than it is spoken.
  await writeFile(file, JSON.stringify({ ...settings, partials: 'off', batch: true }))
  return folder
}

/** A channel of a recording at another rate. */
export const channelAt = async (file: string, channel: number, rateHz: number): Promise<Int16Array> => {
  const { format, bytes } = await readRecording(file)
  return resampled(decodeChannels(bytes, format)[channel] ?? new Int16Array(0), format.sampleRateHz, rateHz)
}

export const resampled = async (samples: Int16Array, fromHz: number, toHz: number): Promise<Int16Array> => {
  if (fromHz === toHz) return samples
  const resampler = await createResampler({ fromHz, toHz, channels: 1 })
  const parts = [resampler.process(samples).slice(), resampler.flush().slice()]
  resampler.free()
  return Int16Array.from(parts.flatMap((part) => [...part]))
}
