// The plugin `openai` of LiveKit's agents for Node: a stream.
import { initializeLogger, stt } from '@livekit/agents'
import { STT } from '@livekit/agents-plugin-openai'
import { AudioFrame } from '@livekit/rtc-node'
import { record } from './steps.mjs'
import { parts, rate, samples } from './wide-audio.mjs'

const { BASE, KEY } = process.env
initializeLogger({ pretty: false, level: 'silent' })
// With these our own client reads the same segments.
const turnDetection = { type: 'server_vad', threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 }
const options = { connOptions: { maxRetry: 0, retryIntervalMs: 0, timeoutMs: 10_000 } }

const listen = async (apiKey) => {
  const stream = new STT({ apiKey, baseURL: `${BASE}/v1`, model: 'gpt-4o-mini-transcribe', turnDetection }).stream(
    options,
  )
  // The plugin closes its socket at the end of its input, so that comes after the last words.
  for (const part of parts(100)) stream.pushFrame(new AudioFrame(part.slice(), rate, 1, part.length))
  const texts = []
  let started = 0
  let ended = 0
  let interim = 0
  const silence = new Int16Array(rate)
  stream.pushFrame(new AudioFrame(silence, rate, 1, silence.length))
  for await (const { type, alternatives } of stream) {
    if (type === stt.SpeechEventType.START_OF_SPEECH) started += 1
    else if (type === stt.SpeechEventType.END_OF_SPEECH) ended += 1
    else if (type === stt.SpeechEventType.INTERIM_TRANSCRIPT) interim += 1
    else if (type === stt.SpeechEventType.FINAL_TRANSCRIPT) {
      texts.push(alternatives[0].text)
      if (texts.length === Number(process.env.TURNS ?? 7)) stream.endInput()
    }
  }
  return { text: texts.join(' '), hasSpeech: started > 0, isEven: started === ended, interim, length: samples.length }
}

await record('a stream', () => listen(KEY))
