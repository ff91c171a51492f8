import { wavHeader } from '../../../../../src/audio/wav-header.js'
import type { StandIn } from '../../../src/testing/stand-in/stand-in.js'
import { speech } from './raw-client.js'

/** Sends a recording of 2 s to be transcribed, as the clients of OpenAI do. */
export const transcribe = (
  vendor: StandIn,
  fields: Readonly<Record<string, string>> = {},
  key = vendor.key,
): Promise<Response> => {
  const audio = Buffer.concat(speech(2_000))
  const header = wavHeader({ encoding: 'pcm', sampleRateHz: 8000, channels: 1 }, audio.length)
  const form = new FormData()
  form.append('file', new Blob([Uint8Array.from(header), audio]), 'a.wav')
  for (const [name, value] of Object.entries({ model: 'whisper-1', ...fields })) form.append(name, value)
  const headers = { Authorization: `Bearer ${key}` }
  return fetch(`${vendor.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
}
