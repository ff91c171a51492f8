// The plugins of LiveKit's agents: 4 s of audio in real time; the input ends 5 s later, as that of an agent goes on.
import { setTimeout as wait } from 'node:timers/promises'
import { initializeLogger, stt } from '@livekit/agents'
import * as deepgram from '@livekit/agents-plugin-deepgram'
import * as openai from '@livekit/agents-plugin-openai'
import { AudioFrame } from '@livekit/rtc-node'

const { BASE, KEY } = process.env
const rate = 24_000
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
initializeLogger({ pretty: false, level: 'silent' })

const recognizer =
  process.argv[2] === 'deepgram'
    ? new deepgram.STT({ apiKey: KEY, baseUrl: BASE, sampleRate: rate })
    : new openai.STT({ apiKey: KEY, baseURL: `${BASE}/v1`, model: 'gpt-4o-transcribe', useRealtime: true })
recognizer.on('error', ({ error, recoverable }) =>
  print({ saw: `error: ${error.message}${recoverable ? ', tries again' : ''}` }),
)
const stream = recognizer.stream()
const send = async () => {
  for (let sent = 0; sent < 40; sent += 1) {
    // The plugin for Deepgram sends no silence: samples that are not 0.
    stream.pushFrame(new AudioFrame(new Int16Array(rate / 10).fill(1_000), rate, 1, rate / 10))
    await wait(100)
  }
  await wait(5_000)
  stream.endInput()
}
void send().catch((error) => print({ saw: `pushFrame throws: ${error.message}` }))
for await (const { type, alternatives } of stream) {
  if (type === stt.SpeechEventType.FINAL_TRANSCRIPT) print({ text: alternatives[0].text })
}
print({ saw: 'done' })
process.exit()
