// The package `openai` for Node: a transcription session over TLS, because it connects by wss only.
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket'
import { record, samples, turns } from './steps.mjs'

const { TLS_BASE, KEY } = process.env
const clientOf = (apiKey) => new OpenAI({ baseURL: `${TLS_BASE}/v1`, apiKey })

/** One item for all audio, or one for each turn. */
const transcribe = async (socket, turnDetection) => {
  const { rate, pcm } = samples()
  const deltas = new Map()
  const completed = []
  let items = 0
  const ended = new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('session.created', () => {
      const format = { type: 'audio/pcm', rate }
      const input = { format, transcription: { model: 'gpt-4o-transcribe' }, turn_detection: turnDetection }
      socket.send({ type: 'session.update', session: { type: 'transcription', audio: { input } } })
    })
    socket.on('session.updated', () => {
      for (let at = 0; at < pcm.length; at += 8_000) {
        const audio = pcm.subarray(at, at + 8_000).toString('base64')
        socket.send({ type: 'input_audio_buffer.append', audio })
      }
      if (turnDetection === null) socket.send({ type: 'input_audio_buffer.commit' })
    })
    socket.on('input_audio_buffer.committed', () => (items += 1))
    socket.on('conversation.item.input_audio_transcription.delta', ({ item_id, delta }) =>
      deltas.set(item_id, (deltas.get(item_id) ?? '') + delta),
    )
    socket.on('conversation.item.input_audio_transcription.completed', ({ transcript }) => {
      if (transcript !== '') completed.push(transcript)
      if (turnDetection === null || completed.length === turns) resolve()
    })
  })
  await ended
  socket.close()
  return { items, text: completed.join(' '), deltas: [...deltas.values()].join(' ') }
}

const refusal = (apiKey) => {
  const socket = new OpenAIRealtimeWS({ intent: 'transcription' }, clientOf(apiKey))
  return new Promise((resolve) =>
    socket.on('error', ({ constructor, message }) => resolve({ name: constructor.name, message })),
  )
}

await record('a full service', () => refusal(KEY))
await record('a commit', () => transcribe(new OpenAIRealtimeWS({ intent: 'transcription' }, clientOf(KEY)), null))
const detection = { type: 'server_vad', threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 400 }
await record('turns', () =>
  transcribe(new OpenAIRealtimeWebSocket({ intent: 'transcription' }, clientOf(KEY)), detection),
)
await record('a wrong key', () => refusal('wrong'))
