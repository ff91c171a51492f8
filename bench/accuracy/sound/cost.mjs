// node bench/accuracy/sound/cost.mjs: the CPU time of the sound check for 20 ms of audio, in microseconds: of the first
// seconds of a session, and of a whole call, for the sample call in several formats. The least of five runs counts,
// because other programs only add to it.
import { createReadStream } from 'node:fs'
import { bytesOf } from './spoilings.mjs'
import { resample } from './recordings.mjs'

const root = new URL('../../..', import.meta.url).pathname
const load = (file) => import(`${root}${file}`).then(({ default: module }) => module)
const { SoundCheck } = await load('dist/cjs/audio/sound-check/sound-check.js')
const { decodeChannels } = await load('dist/cjs/audio/codec.js')
const { readWav } = await load('dist/cjs/index.js')

const runs = 5

/** The sample call in messages of 20 ms. */
const messagesOf = async ({ encoding, sampleRateHz, channels }) => {
  const { format, audio } = await readWav(createReadStream(`${root}samples/call.wav`))
  const parts = []
  for await (const part of audio) parts.push(part)
  const speakers = decodeChannels(new Uint8Array(Buffer.concat(parts)), format).slice(0, channels)
  const samples = await Promise.all(speakers.map((speaker) => resample(speaker, 8000, sampleRateHz)))
  const bytes = bytesOf(samples, encoding)
  const messageBytes = (sampleRateHz / 50) * channels * (encoding === 'pcm' ? 2 : 1)
  return Array.from({ length: Math.floor(bytes.length / messageBytes) }, (_none, i) =>
    bytes.slice(i * messageBytes, (i + 1) * messageBytes),
  )
}

const cpuMicroseconds = (work) => {
  const { user, system } = process.cpuUsage()
  work()
  const after = process.cpuUsage()
  return after.user + after.system - user - system
}

/** Microseconds per message of the first `seconds` of each of many sessions, one hour of audio in all. */
const measure = (format, messages, seconds) => {
  const perSession = seconds * 50
  const sessions = Math.ceil((3600 * 50) / perSession)
  let least = Infinity
  for (let run = 0; run < runs; run++) {
    const spent = cpuMicroseconds(() => {
      for (let session = 0; session < sessions; session++) {
        const check = new SoundCheck(format, () => undefined)
        for (let i = 0; i < perSession; i++) check.push(messages[i % messages.length])
      }
    })
    least = Math.min(least, spent / (sessions * perSession))
  }
  return least.toFixed(2)
}

const lengths = [5, 60, 300, 1800]
console.log(['µs per 20 ms of a session of'.padEnd(30), ...lengths.map((s) => `${s} s`.padStart(8))].join(''))
for (const [encoding, sampleRateHz, channels] of [
  ['pcm', 8000, 1],
  ['ulaw', 8000, 1],
  ['ulaw', 8000, 2],
  ['pcm', 16_000, 1],
]) {
  const format = { encoding, sampleRateHz, channels }
  const messages = await messagesOf(format)
  const spent = lengths.map((seconds) => measure(format, messages, seconds).padStart(8))
  console.log([`${encoding} ${sampleRateHz} Hz, ${channels} channel(s)`.padEnd(30), ...spent].join(''))
}
