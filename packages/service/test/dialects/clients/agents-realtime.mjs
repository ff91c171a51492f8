// `@openai/agents-realtime`: it has no transcription session, so it uses one of the type `realtime`, without answers.
import { OpenAIRealtimeWebSocket } from '@openai/agents-realtime'
import { record, samples, turns } from './steps.mjs'

const { BASE, KEY } = process.env
const transportOf = () =>
  new OpenAIRealtimeWebSocket({ url: `${BASE.replace('http', 'ws')}/v1/realtime?intent=transcription` })

const refusal = async (apiKey) => {
  const transport = transportOf()
  transport.on('error', () => undefined)
  return transport.connect({ apiKey, model: 'gpt-realtime' }).then(
    () => 'connected',
    (error) => String(error.message ?? error.error?.message ?? error.constructor.name),
  )
}

await record('a full service', () => refusal(KEY))
await record('turns', async () => {
  const { rate, pcm } = samples()
  const transport = transportOf()
  const seen = { texts: [], retrieved: [], errors: [] }
  const all = new Promise((resolve) => {
    transport.on('*', (event) => {
      if (event.type === 'error') seen.errors.push(event.error?.message)
      if (event.type === 'conversation.item.input_audio_transcription.completed') seen.texts.push(event.transcript)
      if (event.type !== 'conversation.item.retrieved') return
      seen.retrieved.push(event.item.content[0].transcript)
      if (seen.retrieved.length === turns) resolve()
    })
  })
  await transport.connect({
    apiKey: KEY,
    model: 'gpt-realtime',
    initialSessionConfig: {
      audio: { input: { format: { type: 'audio/pcm', rate }, transcription: { model: 'gpt-4o-mini-transcribe' } } },
    },
  })
  for (let at = 0; at < pcm.length; at += 1_600) {
    const part = pcm.subarray(at, at + 1_600)
    transport.sendAudio(part.buffer.slice(part.byteOffset, part.byteOffset + part.length))
  }
  await all
  transport.close()
  return { text: seen.texts.join(' '), retrieved: seen.retrieved.join(' '), errors: seen.errors }
})
await record('a wrong key', () => refusal('wrong'))
