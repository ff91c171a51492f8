// `@openai/agents-realtime`: its WebSocket, whose sessions are of the type "realtime".
import { OpenAIRealtimeWebSocket } from '@openai/agents-realtime'
import { record } from './steps.mjs'
import { bytesOf, parts } from './wide-audio.mjs'

const { BASE, KEY } = process.env

const listen = async () => {
  const transport = new OpenAIRealtimeWebSocket({ url: `${BASE.replace('http', 'ws')}/v1/realtime` })
  const texts = new Map()
  const errors = []
  let session
  const isDone = new Promise((resolve) => {
    transport.on('*', (event) => {
      if (event.type === 'session.updated') session = event.session
      if (event.type === 'input_audio_buffer.committed') texts.set(event.item_id, undefined)
      if (event.type !== 'conversation.item.retrieved') return
      texts.set(event.item.id, event.item.content[0].transcript)
      // The last item is the one of the commit below, without speech.
      if (event.item.content[0].transcript === '') resolve()
    })
  })
  transport.on('error', ({ error }) => errors.push(error))
  await transport.connect({ apiKey: KEY, model: 'gpt-realtime' })
  for (const part of parts(100)) transport.sendAudio(bytesOf(part).slice().buffer)
  transport.sendEvent({ type: 'input_audio_buffer.commit' })
  await isDone
  transport.close()
  return { text: [...texts.values()].filter((text) => text !== '').join(' '), type: session?.type, errors }
}

await record('a conversation', listen)
