// `openai` for Node: 4 s of audio in real time, then a commit. Each line of the output is a text or what was reported.
import { setTimeout as wait } from 'node:timers/promises'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'

const { BASE, KEY } = process.env
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const socket = new OpenAIRealtimeWS({ intent: 'transcription' }, new OpenAI({ baseURL: `${BASE}/v1`, apiKey: KEY }))
let isCommitted = false
let created
const begun = new Promise((resolve) => (created = resolve))
socket.on('session.created', created)
socket.on('conversation.item.input_audio_transcription.completed', ({ transcript }) => {
  if (transcript !== '') print({ text: transcript })
  if (isCommitted) socket.close()
})
socket.on('error', (error) => print({ saw: `error: ${error.message}` }))
socket.socket.on('close', (code) => {
  print({ saw: `close ${code}` })
  process.exit()
})
await begun
const input = { format: { type: 'audio/pcm', rate: 24_000 }, transcription: { model: 'gpt-transcribe' } }
const turn_detection = { type: 'server_vad' }
socket.send({
  type: 'session.update',
  session: { type: 'transcription', audio: { input: { ...input, turn_detection } } },
})
for (let sent = 0; sent < 40; sent += 1) {
  socket.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(4_800).toString('base64') })
  await wait(100)
}
isCommitted = true
socket.send({ type: 'input_audio_buffer.commit' })
