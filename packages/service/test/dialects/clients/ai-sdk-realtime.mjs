// `ai` with `@ai-sdk/openai`: live audio.
import { ReadableStream } from 'node:stream/web'
import { createOpenAI } from '@ai-sdk/openai'
import { experimental_streamTranscribe as streamTranscribe } from 'ai'
import { record } from './steps.mjs'
import { bytesOf, parts, rate } from './wide-audio.mjs'

const { BASE, KEY } = process.env

const listen = async (apiKey) => {
  const audio = new ReadableStream({
    start: (controller) => {
      for (const part of parts(100)) controller.enqueue(bytesOf(part))
      controller.close()
    },
  })
  const result = streamTranscribe({
    model: createOpenAI({ baseURL: `${BASE}/v1`, apiKey }).transcription('gpt-transcribe'),
    audio,
    inputAudioFormat: { type: 'audio/pcm', rate },
  })
  let deltas = ''
  const types = new Set()
  for await (const part of result.fullStream) {
    types.add(part.type)
    if (part.type === 'transcript-delta') deltas += part.delta
    if (part.type === 'error') throw part.error
  }
  return { text: await result.text, deltas, types: [...types] }
}

await record('live audio', () => listen(KEY))
await record('a wrong key', () => listen('wrong'))
