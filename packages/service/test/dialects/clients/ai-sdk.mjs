// `ai` 7 with `@ai-sdk/openai` and `@ai-sdk/deepgram`, and with `rxspeech/ai-sdk`.
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createDeepgram } from '@ai-sdk/deepgram'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, experimental_streamTranscribe as streamTranscribe, transcribe } from 'ai'
import { createRxspeech } from 'rxspeech/ai-sdk'
import { record, samples } from './steps.mjs'

const { BASE, KEY, RECORDING, RXSPEECH_URL } = process.env
const audio = await readFile(RECORDING)
const openai = (apiKey) => createOpenAI({ baseURL: `${BASE}/v1`, apiKey })
const rxspeech = (token) => createRxspeech({ url: RXSPEECH_URL, token })
// It has no base address.
const here = (url, init) => fetch(String(url).replace('https://api.deepgram.com', BASE), init)
const deepgram = (apiKey) => createDeepgram({ apiKey, fetch: here })
const whole = async (provider, model) => {
  const { text, segments, durationInSeconds } = await transcribe({ model: provider.transcription(model), audio })
  return { text, segments: segments.map((segment) => segment.text.trim()).join(' '), durationInSeconds }
}
const live = async (model) => {
  const { rate, pcm } = samples()
  const inputAudioFormat = { type: 'audio/pcm', rate }
  const parts = Array.from({ length: Math.ceil(pcm.length / 4_800) }, (_, at) =>
    pcm.subarray(at * 4_800, (at + 1) * 4_800),
  )
  const { fullStream } = streamTranscribe({ model, audio: Readable.toWeb(Readable.from(parts)), inputAudioFormat })
  const seen = { deltas: '', partials: 0, finals: [] }
  for await (const part of fullStream) {
    if (part.type === 'transcript-delta') seen.deltas += part.delta
    else if (part.type === 'transcript-partial') seen.partials += 1
    else if (part.type === 'transcript-final') seen.finals.push(part.text)
  }
  return { ...seen, finals: seen.finals.join(' ') }
}
const errorOf = async (provider) => {
  const error = await transcribe({ model: provider.transcription('whisper-1'), audio }).catch((caught) => caught)
  return { isTyped: APICallError.isInstance(error), isRetryable: error.isRetryable, message: error.message }
}

await record('openai', () => whole(openai(KEY), 'whisper-1'))
await record('openai, another model', () => whole(openai(KEY), 'gpt-4o-mini-transcribe'))
await record('openai, a wrong key', () => errorOf(openai('wrong')))
await record('deepgram', () => whole(deepgram(KEY), 'nova-3'))
await record('deepgram, a wrong key', () => errorOf(deepgram('wrong')))
await record('rxspeech', () => whole(rxspeech(KEY), 'call'))
await record('rxspeech, a wrong key', () => errorOf(rxspeech('wrong')))
await record('openai, live', () => live(openai(KEY).transcription('gpt-transcribe')))
await record('rxspeech, live', () => live(rxspeech(KEY).transcription('call')))
