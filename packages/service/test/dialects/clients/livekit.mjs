// The plugins of LiveKit's agents for Deepgram and OpenAI, without a LiveKit server.
import { setTimeout as pause } from 'node:timers/promises'
import { initializeLogger, stt } from '@livekit/agents'
import * as deepgram from '@livekit/agents-plugin-deepgram'
import * as openai from '@livekit/agents-plugin-openai'
import { AudioFrame } from '@livekit/rtc-node'
import { linger, record, samples, turns } from './steps.mjs'

const { BASE, KEY } = process.env
initializeLogger({ pretty: false, level: 'silent' })

const { rate, pcm } = samples()
const all = new Int16Array(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.length))
const frameOf = (part) => new AudioFrame(part, rate, 1, part.length)

/** The texts of a stream, in which each turn has begun once; its input ends behind that of the last turn. */
const listen = async (recognizer, isEnded) => {
  const errors = []
  recognizer.on('error', ({ error }) => errors.push(`${error.name}: ${error.message}`))
  const stream = recognizer.stream()
  const size = rate / 20
  const push = async () => {
    for (let at = 0; at < all.length; at += size) {
      stream.pushFrame(frameOf(all.slice(at, at + size)))
      // Ten times as fast as it was spoken: a stream whose input has ended does not connect.
      await pause(5)
    }
  }
  const pushed = push()
  const texts = []
  let starts = 0
  for await (const { type, alternatives } of stream) {
    if (type === stt.SpeechEventType.START_OF_SPEECH) starts += 1
    if (type !== stt.SpeechEventType.FINAL_TRANSCRIPT) continue
    texts.push(alternatives[0].text)
    if (texts.length < turns) continue
    // The service joins the turns that are open at the end of the audio.
    if (!isEnded) break
    await pushed
    stream.endInput()
  }
  await pushed
  stream.close()
  return { text: texts.join(' '), starts, errors }
}

const deepgramOf = (apiKey) => new deepgram.STT({ apiKey, baseUrl: BASE, sampleRate: rate })
const openaiOf = (options) => new openai.STT({ apiKey: KEY, baseURL: `${BASE}/v1`, ...options })

await Promise.all([
  record('deepgram, live', () => listen(deepgramOf(KEY), true)),
  record('openai, live', () => listen(openaiOf({ model: 'gpt-4o-transcribe', useRealtime: true }), false)),
])
await record(
  'openai, a recording',
  async () => (await openaiOf({ model: 'whisper-1' }).recognize(frameOf(all))).alternatives[0].text,
)
await record('deepgram, a recording', async () => (await deepgramOf(KEY).recognize(frameOf(all))).alternatives[0].text)
await record('deepgram, a wrong key', () => listen(deepgramOf('wrong'), true))
await linger()
process.exit(0)
