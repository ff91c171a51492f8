// The plugin `deepgram` of LiveKit's agents for Node: a stream.
import { readFile } from 'node:fs/promises'
import { initializeLogger, stt } from '@livekit/agents'
import { STT } from '@livekit/agents-plugin-deepgram'
import { AudioFrame } from '@livekit/rtc-node'
import { record } from './steps.mjs'

const { BASE, KEY, LINGER_MS = '0', RECORDING } = process.env
initializeLogger({ pretty: false, level: 'silent' })
const wav = await readFile(RECORDING)
const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length))

const listen = async (apiKey) => {
  const stream = new STT({ apiKey, baseUrl: BASE, sampleRate: 8000 }).stream({
    connOptions: { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 10_000 },
  })
  // It does not connect for audio that has ended, and leaves at the first message behind that end.
  const sent = (async () => {
    for (let at = 0; at < samples.length; at += 800) {
      const part = samples.slice(at, at + 800)
      stream.pushFrame(new AudioFrame(part, 8000, 1, part.length))
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    stream.endInput()
  })()
  const texts = []
  let started = 0
  let ended = 0
  for await (const { type, alternatives } of stream) {
    if (type === stt.SpeechEventType.START_OF_SPEECH) started += 1
    else if (type === stt.SpeechEventType.END_OF_SPEECH) ended += 1
    else if (type === stt.SpeechEventType.FINAL_TRANSCRIPT) texts.push(alternatives[0].text)
  }
  await sent
  await new Promise((resolve) => setTimeout(resolve, Number(LINGER_MS)))
  return { text: texts.join(' '), hasSpeech: started > 0, isEven: started === ended }
}

await record('a stream', () => listen(KEY))
