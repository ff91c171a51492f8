// `openai`, its realtime clients for `ws` and for the WebSocket of the platform; both use TLS only.
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket'
import { record } from './steps.mjs'
import { base64Of, parts, rate } from './wide-audio.mjs'

const { KEY, TLS_BASE } = process.env
const client = (apiKey) => new OpenAI({ baseURL: `${TLS_BASE}/v1`, apiKey })
const sessionOf = (turn_detection, transcription = { model: 'gpt-transcribe', language: 'en' }) => ({
  type: 'transcription',
  audio: { input: { format: { type: 'audio/pcm', rate }, transcription, turn_detection } },
})

const open = (realtime) => {
  const seen = { deltas: '', texts: [], errors: [], types: new Set() }
  realtime.on('event', (event) => {
    seen.types.add(event.type)
    if (event.type.endsWith('.delta')) seen.deltas += event.delta
    if (event.type.endsWith('.completed')) seen.texts.push(event.transcript)
  })
  realtime.on('error', (error) => seen.errors.push(error.error?.code ?? error.message))
  return { ...seen, seen, next: (type) => new Promise((resolve) => realtime.once(type, resolve)) }
}

const completed = 'conversation.item.input_audio_transcription.completed'

/** One commit for all of the audio. */
const commit = async (realtime) => {
  const { seen, next } = open(realtime)
  await next('session.created')
  realtime.send({ type: 'session.update', session: sessionOf(null) })
  await next('session.updated')
  for (const part of parts(100)) realtime.send({ type: 'input_audio_buffer.append', audio: base64Of(part) })
  const done = next(completed)
  realtime.send({ type: 'input_audio_buffer.commit' })
  await done
  realtime.close()
  const [text] = seen.texts
  return { text, isOneItem: seen.texts.length === 1, isPrefix: text.startsWith(seen.deltas), errors: seen.errors }
}

/** The service divides the audio; the last commit has nothing but silence. */
const detect = async (realtime) => {
  const { seen, next } = open(realtime)
  await next('session.created')
  realtime.send({ type: 'session.update', session: sessionOf({ type: 'server_vad' }) })
  for (const part of parts(100)) realtime.send({ type: 'input_audio_buffer.append', audio: base64Of(part) })
  const session = next('session.updated')
  realtime.send({ type: 'input_audio_buffer.commit' })
  realtime.send({ type: 'session.update', session: { type: 'transcription' } })
  await session
  await next('session.updated')
  realtime.close()
  return {
    text: seen.texts.filter((text) => text !== '').join(' '),
    hasSpeech: seen.types.has('input_audio_buffer.speech_started'),
    hasItems: seen.types.has('conversation.item.done'),
    errors: seen.errors,
  }
}

/** An option that the service does not have. */
const refuse = async (realtime) => {
  const { seen, next } = open(realtime)
  await next('session.created')
  realtime.send({ type: 'session.update', session: sessionOf(null, { model: 'gpt-transcribe', prompt: 'Names' }) })
  await next('error')
  realtime.close()
  return seen.errors
}

const refusedOpening = (realtime) =>
  new Promise((resolve) => {
    realtime.on('error', (error) => resolve(error.message))
  })

const ws = (apiKey) => new OpenAIRealtimeWS({ intent: 'transcription' }, client(apiKey))
const socket = () =>
  new OpenAIRealtimeWebSocket({ intent: 'transcription', dangerouslyAllowBrowser: true }, client(KEY))

await record('a commit', () => commit(ws(KEY)))
await record('a commit by the other class', () => commit(socket()))
await record('speech', () => detect(ws(KEY)))
await record('an option', () => refuse(ws(KEY)))
await record('a wrong key', () => refusedOpening(ws('wrong')))
