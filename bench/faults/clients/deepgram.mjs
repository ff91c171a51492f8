// `@deepgram/sdk`: 4 s of audio in real time, then CloseStream. Each line of the output is a text or what was reported.
import { setTimeout as wait } from 'node:timers/promises'
import { DeepgramClient } from '@deepgram/sdk'

const { BASE, KEY } = process.env
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const client = new DeepgramClient({ apiKey: KEY, baseUrl: BASE })
const query = { model: 'nova-3', encoding: 'linear16', sample_rate: 8000, Authorization: `Token ${KEY}` }
const socket = await client.listen.v1.connect(query)
socket.on('open', () => print({ saw: 'open' }))
socket.on('message', (message) => {
  if (typeof message === 'string') print({ saw: 'text that is no JSON' })
  else if (message.is_final && message.channel.alternatives[0].transcript !== '')
    print({ text: message.channel.alternatives[0].transcript })
})
socket.on('error', (error) => print({ saw: `error: ${error.message}` }))
socket.on('close', ({ code }) => {
  print({ saw: `close ${code}` })
  // An error may follow.
  if (code === 1000) setTimeout(() => process.exit(), 200)
})
socket.connect()
await socket.waitForOpen().catch((error) => print({ saw: `waitForOpen rejects: ${error.message}` }))
for (let sent = 0; sent < 40; sent += 1) {
  try {
    socket.sendMedia(new Uint8Array(1_600))
  } catch (error) {
    print({ saw: `sendMedia throws: ${error.message}` })
  }
  await wait(100)
}
try {
  socket.sendCloseStream({ type: 'CloseStream' })
} catch (error) {
  print({ saw: `sendCloseStream throws: ${error.message}` })
  process.exit()
}
