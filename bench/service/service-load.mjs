// Clients for the measured service, in a separate process and without the library, so that their cost does not count
// for the service.
import { readFileSync } from 'node:fs'
import { credentials, Client } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'
import { decodeSamples } from '../../packages/server/dist/nodes.js'

const chunkMs = 20
/** 24000 is the rate of the OpenAI interface. */
const rateHz = Number(process.env['RATE_HZ'] ?? 8000)
const chunkBytes = (rateHz * chunkMs) / 500

/** The left channel of the sample call, 8 kHz PCM, in a loop: speech and silence as in a real call. */
const call = readFileSync(new URL('../../samples/call.wav', import.meta.url)).subarray(58)
const muLaw = call.filter((_byte, at) => at % 2 === 0)
const narrow = decodeSamples(muLaw, 'ulaw')
const samples = new Int16Array((narrow.length * rateHz) / 8000).map(
  (_none, at) => narrow[Math.floor((at * 8000) / rateHz)],
)
const audio = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
const silence = Buffer.alloc(chunkBytes)
const callChunks = Math.floor(audio.length / chunkBytes)
const chunkAt = (index) => {
  const at = (index % callChunks) * chunkBytes
  return audio.subarray(at, at + chunkBytes)
}

/** The same chunks in the messages of the OpenAI interface, which has µ-law for 8 kHz. */
const isNarrow = rateHz === 8000
const appendAt = (index) => {
  const at = ((index % callChunks) * chunkBytes) / 2
  const bytes = isNarrow ? muLaw.subarray(at, at + chunkBytes / 2) : chunkAt(index)
  return JSON.stringify({ type: 'input_audio_buffer.append', audio: bytes.toString('base64') })
}

/** Delay of results after the chunk that decided them, in ms. */
let latencies = []

/** A milestone ends when its silence was long enough: the chunk that ends at this time, or contains it, decided it. */
const received = (sentAt, endMs) => {
  const at = sentAt.get(Math.ceil(endMs / chunkMs) - 1)
  if (at !== undefined) latencies.push(performance.now() - at)
}

let begun = 0
/** Each session begins at another position of the call, so that callers do not fall silent at the same time. */
const session = () => ({ sentAt: new Map(), next: 0, from: (begun += 97) })

/** Remembers the send time of each chunk for as long as a result for it may arrive. */
const sent = (item) => {
  item.sentAt.set(item.next, performance.now())
  item.sentAt.delete(item.next - 500)
  item.next += 1
}

const recognizeText = (model) =>
  JSON.stringify({
    'message-name': 'recognize',
    'audio-format': 'pcm',
    'model-name': model,
    'sample-rate': rateHz,
    'vad-graceful-silence-threshold-msec': 0,
  })

const openSocket = ({ wsUrl, token, model }) =>
  new Promise((resolve, reject) => {
    const item = session()
    const socket = new WebSocket(`${wsUrl}/recognizer`, { headers: { Authorization: `Bearer ${token}` } })
    const fail = (error) => {
      reject(error)
      socket.terminate()
    }
    socket.on('error', fail)
    socket.once('close', (code) => reject(new Error(`The socket was closed with ${code}.`)))
    socket.once('open', () => socket.send(recognizeText(model)))
    socket.on('message', (data) => {
      const message = JSON.parse(data.toString())
      if (message['message-name'] === 'milestone-result') received(item.sentAt, Number(message['end-msec']))
      else if (message['message-name'] === 'recognize-response') {
        if (message['operation-result'] !== 'Success') fail(new Error(message['operation-result']))
        resolve({
          send: (chunk = chunkAt(item.from + item.next)) => {
            socket.send(chunk)
            sent(item)
          },
          close: () =>
            new Promise((closed) => {
              if (socket.readyState === WebSocket.CLOSED) closed()
              else socket.once('close', closed).close(1000)
            }),
        })
      }
    })
  })

/** The sockets of dialects: their address, what is sent first, after which message they are ready, and their chunks. */
const dialects = {
  deepgram: {
    path: ({ model }) => `/v1/listen?model=${model}&encoding=linear16&sample_rate=${rateHz}`,
    chunk: chunkAt,
  },
  realtime: {
    path: () => '/v1/realtime?intent=transcription',
    first: ({ model }) => {
      const format = isNarrow ? { type: 'audio/pcmu' } : { type: 'audio/pcm', rate: rateHz }
      const input = { format, transcription: { model } }
      return JSON.stringify({ type: 'session.update', session: { type: 'transcription', audio: { input } } })
    },
    readyAfter: 'session.updated',
    chunk: appendAt,
  },
}

const openDialect = (by, access) =>
  new Promise((resolve, reject) => {
    const { path, first, readyAfter, chunk } = dialects[by]
    const item = session()
    const headers = { Authorization: `Bearer ${access.token}` }
    const socket = new WebSocket(`${access.wsUrl}${path(access)}`, { headers })
    socket.on('error', reject).once('close', (code) => reject(new Error(`The socket was closed with ${code}.`)))
    const ready = () =>
      resolve({
        send: () => {
          socket.send(chunk(item.from + item.next))
          item.next += 1
        },
        close: () => new Promise((closed) => socket.once('close', closed).close(1000)),
      })
    socket.once('open', () => (first === undefined ? ready() : socket.send(first(access))))
    socket.on('message', (data) => {
      const { type, error } = JSON.parse(data.toString())
      if (type === readyAfter) ready()
      else if (type === 'error' || type === 'Error') reject(new Error(error?.message ?? type))
    })
  })

const definition = loadSync(new URL('../../proto/dataflow.proto', import.meta.url).pathname, {
  keepCase: true,
  enums: Number,
})
const method = definition['dataflow']['Stream']

const openStream = ({ channel, token, model }) =>
  new Promise((resolve, reject) => {
    const item = session()
    const call = channel.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize)
    let isOver = false
    call.on('error', reject)
    call.once('status', ({ details }) => {
      isOver = true
      reject(new Error(details))
    })
    call.write({
      message: {
        content: JSON.stringify({
          MessageName: 'Start',
          Audio: { SampleRate: rateHz, ChannelCount: 1, Encoding: 'pcm' },
          Tenant: 'Default',
          Token: token,
          ProjectName: 'transcribe',
          Settings: { ModelName: model },
        }),
        content_type: 2,
      },
    })
    call.on('data', ({ message }) => {
      const json = JSON.parse(message.content)
      if (json['Name'] === 'SR Milestone') received(item.sentAt, json['EndMsec'])
      else if ('operation-result' in json) {
        if (json['operation-result'] !== 'success') reject(new Error(json['operation-result']))
        resolve({
          send: (chunk = chunkAt(item.from + item.next)) => {
            call.write({ message: { binary_content: chunk, content_type: 0 } })
            sent(item)
          },
          close: () =>
            new Promise((closed) => {
              if (isOver) closed()
              call.once('status', closed)
              call.off('error', reject).on('error', () => undefined)
              call.write({ message: { content: JSON.stringify({ MessageName: 'Stop' }), content_type: 2 } })
            }),
        })
      }
    })
  })

let access
const channels = []

const open = (by, index) => {
  if (by in dialects) return openDialect(by, access)
  return by === 'ws' ? openSocket(access) : openStream({ ...access, channel: channels[index % channels.length] })
}

/** Open sessions. */
let running = []

const percentile = (values, part) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN

const handlers = {
  access: async ({ wsUrl, grpc, authUrl, clientSecret, model = 'null' }) => {
    const form = {
      client_id: 'bench',
      client_secret: clientSecret,
      grant_type: 'client_credentials',
      scope: 'Ldm_Integration',
    }
    const answer = await fetch(`${authUrl}/connect/token`, { method: 'POST', body: new URLSearchParams(form) })
    access = { wsUrl, model, token: (await answer.json())['access_token'] }
    for (let at = 0; at < 4; at += 1) {
      channels.push(new Client(grpc, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }))
    }
  },
  open: async ({ by, count }) => {
    for (let at = 0; at < count; at += 50) {
      const some = Array.from({ length: Math.min(50, count - at) }, (_none, index) => open(by, at + index))
      running.push(...(await Promise.all(some)))
    }
  },
  /** Sends in real time with one shared timer, the sessions spread over the 20 ms. */
  pace: async ({ durationMs, isSilent = false }) => {
    const chunk = isSilent ? silence : undefined
    let chunks = 0
    latencies = []
    const slots = 10
    const startMs = performance.now()
    let tick = 0
    let lateMs = 0
    await new Promise((resolve) => {
      const timer = setInterval(() => {
        const nowMs = performance.now() - startMs
        lateMs = Math.max(lateMs, nowMs - (tick * chunkMs) / slots)
        for (; (tick * chunkMs) / slots <= nowMs; tick += 1) {
          for (let at = tick % slots; at < running.length; at += slots) {
            running[at].send(chunk)
            chunks += 1
          }
        }
        if (nowMs < durationMs) return
        clearInterval(timer)
        resolve()
      }, 1)
    })
    return {
      chunks,
      results: latencies.length,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      lateMs,
    }
  },
  close: async () => {
    await Promise.all(running.map((session) => session.close()))
    running = []
  },
  /**
   * For some time `count` clients want a session, all of them by the middle of it; a refused one tries again after 2 s,
   * as the service asks. Returns how many got one, how long each refusal took, and how many were not of an overload.
   */
  offer: async ({ by, count, durationMs }) => {
    const startMs = performance.now()
    const refusals = []
    let admitted = 0
    let others = 0
    const client = async (index) => {
      await sleep(((index / count) * durationMs) / 2)
      while (performance.now() - startMs < durationMs) {
        const askedMs = performance.now()
        const item = await open(by, index).catch((error) => {
          if (!/overloaded/.test(error.message)) others += 1
        })
        if (item !== undefined) {
          admitted += 1
          running.push(item)
          return
        }
        refusals.push(performance.now() - askedMs)
        await sleep(2000)
      }
    }
    await Promise.all(Array.from({ length: count }, (_none, index) => client(index)))
    return {
      admitted,
      refused: refusals.length,
      others,
      refusalP50: percentile(refusals, 0.5),
      refusalP99: percentile(refusals, 0.99),
      refusalWorst: Math.max(...refusals),
    }
  },
  /** How long it takes until a session is accepted, in ms. */
  recovery: async ({ by }) => {
    const startMs = performance.now()
    for (;;) {
      const item = await open(by, 0).catch(() => undefined)
      if (item !== undefined) {
        const recoveredMs = performance.now() - startMs
        await item.close()
        return recoveredMs
      }
      await sleep(50)
    }
  },
  /** Opens and closes sessions for some time, `atOnce` of them concurrently. */
  setups: async ({ by, durationMs, atOnce }) => {
    const startMs = performance.now()
    let done = 0
    const worker = async (index) => {
      while (performance.now() - startMs < durationMs) {
        await (await open(by, index)).close()
        done += 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, (_none, index) => worker(index)))
    return { perSecond: (done * 1000) / (performance.now() - startMs) }
  },
}

process.on('message', async ({ id, request, argument }) => {
  process.send({ id, answer: (await handlers[request](argument)) ?? null })
})
process.once('disconnect', () => process.exit(0))
process.send({ id: 0, answer: 'ready' })
