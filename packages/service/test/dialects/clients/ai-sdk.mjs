// `ai` 7 with `@ai-sdk/openai`, and with `rxspeech/ai-sdk`.
import { readFile } from 'node:fs/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { APICallError, transcribe } from 'ai'
import { createRxspeech } from 'rxspeech/ai-sdk'
import { record } from './steps.mjs'

const { BASE, KEY, RECORDING, RXSPEECH_URL } = process.env
const audio = await readFile(RECORDING)
const openai = (apiKey) => createOpenAI({ baseURL: `${BASE}/v1`, apiKey })
const rxspeech = (token) => createRxspeech({ url: RXSPEECH_URL, token })
const whole = async (provider, model) => {
  const { text, segments, durationInSeconds } = await transcribe({ model: provider.transcription(model), audio })
  return { text, segments: segments.map((segment) => segment.text.trim()).join(' '), durationInSeconds }
}
const errorOf = async (provider) => {
  const error = await transcribe({ model: provider.transcription('whisper-1'), audio }).catch((caught) => caught)
  return { isTyped: APICallError.isInstance(error), isRetryable: error.isRetryable, message: error.message }
}

await record('openai', () => whole(openai(KEY), 'whisper-1'))
await record('openai, another model', () => whole(openai(KEY), 'gpt-4o-mini-transcribe'))
await record('openai, a wrong key', () => errorOf(openai('wrong')))
await record('rxspeech', () => whole(rxspeech(KEY), 'call'))
await record('rxspeech, a wrong key', () => errorOf(rxspeech('wrong')))
