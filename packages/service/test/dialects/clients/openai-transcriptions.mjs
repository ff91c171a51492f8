// The package `openai` for Node: recordings in every form of answer, models, and its errors.
import { createReadStream } from 'node:fs'
import OpenAI, { AuthenticationError, BadRequestError, toFile } from 'openai'
import { record } from './steps.mjs'

const { BASE, KEY, RECORDING } = process.env
const baseURL = `${BASE}/v1`
const client = new OpenAI({ baseURL, apiKey: KEY })
const transcribe = (options = {}, { audio } = client) =>
  audio.transcriptions.create({ file: createReadStream(RECORDING), model: 'whisper-1', ...options })

const file = await toFile(createReadStream(RECORDING), 'call.wav')
// First, because a file can be sent again, which a stream cannot.
await record('a file', async () => (await transcribe({ file })).text)
await record('a stream', async () => (await transcribe()).text)
for (const response_format of ['text', 'srt', 'vtt'])
  await record(response_format, () => transcribe({ response_format }))
await record('verbose_json', async () => {
  const { text, segments, words } = await transcribe({
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  return {
    text,
    segments: segments.map((segment) => segment.text).join(''),
    words: words.map(({ word }) => word).join(' '),
  }
})
await record('events', async () => {
  const texts = { deltas: '', done: '' }
  for await (const { type, delta, text } of await transcribe({ stream: true })) {
    if (type === 'transcript.text.delta') texts.deltas += delta
    else texts.done = text
  }
  return texts
})
await record('models', async () => (await client.models.list()).data.map(({ id }) => id))

const errorOf = async (promise, expected) => {
  const error = await promise.catch((caught) => caught)
  const { status, code, param, requestID } = error
  return { isTyped: error instanceof expected, status, code, param, hasId: typeof requestID === 'string' }
}
const noRecording = await toFile(Buffer.from('text'), 'a.wav')
const stranger = new OpenAI({ baseURL, apiKey: 'wrong' })
await record('a wrong key', () => errorOf(transcribe({}, stranger), AuthenticationError))
await record('an option', () => errorOf(transcribe({ prompt: 'Names' }), BadRequestError))
await record('no recording', () => errorOf(transcribe({ file: noRecording }), BadRequestError))
