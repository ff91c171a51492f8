// The package `@deepgram/sdk` 4: a stream and a recording.
import { readFile } from 'node:fs/promises'
import { createClient, LiveTranscriptionEvents } from 'deepgram-4'
import { linger, record } from './steps.mjs'

const { BASE, KEY, RECORDING } = process.env
const clientOf = (apiKey) => createClient(apiKey, { global: { url: BASE } })
const wav = await readFile(RECORDING)
const linear16 = { model: 'nova-3', encoding: 'linear16', sample_rate: 8000, interim_results: true }

const listen = (apiKey) =>
  new Promise((resolve) => {
    const socket = clientOf(apiKey).listen.live(linear16)
    const heard = { texts: [], metadata: 0, errors: 0 }
    const end = (code) => resolve({ ...heard, texts: undefined, text: heard.texts.join(' '), code })
    socket.on(LiveTranscriptionEvents.Transcript, ({ is_final: isFinal, channel }) => {
      const [{ transcript }] = channel.alternatives
      if (isFinal && transcript !== '') heard.texts.push(transcript)
    })
    socket.on(LiveTranscriptionEvents.Metadata, () => (heard.metadata += 1))
    socket.on(LiveTranscriptionEvents.Error, () => {
      heard.errors += 1
      end()
    })
    socket.on(LiveTranscriptionEvents.Close, ({ code }) => end(code))
    socket.on(LiveTranscriptionEvents.Open, () => {
      for (let at = 44; at < wav.length; at += 1600) socket.send(wav.subarray(at, at + 1600))
      socket.keepAlive()
      socket.finalize()
      socket.requestClose()
    })
  })

const refusal = async (apiKey) => {
  const { error } = await clientOf(apiKey).listen.prerecorded.transcribeFile(wav, { model: 'nova-3' })
  return { name: error.name, status: error.status }
}

await record('a full service', () => refusal(KEY))
await record('a stream', () => listen(KEY))
await record('a wrong key', () => listen('wrong'))
await record('a recording', async () => {
  const { result, error } = await clientOf(KEY).listen.prerecorded.transcribeFile(wav, { model: 'nova-3' })
  if (error !== null) throw error
  return result.results.channels[0].alternatives[0].transcript
})
await record('a recording with a wrong key', () => refusal('wrong'))
await linger()
