// A minimal client for each transport, the baseline of all ratios: the package `ws` or `@grpc/grpc-js`, called
// directly. It parses the JSON of every message and reads the texts of the results. It validates nothing, keeps no
// audio and no state, and has no deadlines, no pings and no back-pressure. A pulled source is read with `for await`.
import grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { createSource } from './client-sources.mjs'

/** How audio reaches a minimal client: by plain calls, or by an iterable. */
const feed = (kind, send, end) => {
  if (kind !== 'iterable') return { push: send, end }
  const { source, push, end: endSource } = createSource.iterable()
  const read = async () => {
    for await (const bytes of source) send(bytes)
    end()
  }
  void read()
  return { push, end: endSource }
}

const rawSocket = async ({ address, results, sampleRateHz, source }) => {
  const socket = new WebSocket(address.ws, { perMessageDeflate: false })
  await once(socket, 'open')
  let characters = 0
  let onStarted
  let onFinal
  const started = new Promise((resolve) => (onStarted = resolve))
  const final = new Promise((resolve) => (onFinal = resolve))
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString())
    switch (message['message-name']) {
      case 'partial-result':
      case 'milestone-result':
        characters += message.text.length
        break
      case 'final-result':
        onFinal()
        break
      default:
        onStarted()
    }
  })
  socket.send(
    JSON.stringify({
      'message-name': 'recognize',
      'audio-format': 'pcm',
      'model-name': results,
      'sample-rate': sampleRateHz,
    }),
  )
  await started
  const { push, end } = feed(
    source,
    (bytes) => socket.send(bytes),
    () => socket.send('{"message-name":"finalize-recognition"}'),
  )
  return {
    push,
    finish: async () => {
      end()
      await final
      return characters
    },
    close: () => socket.terminate(),
  }
}

const protoPath = new URL('../../proto/dataflow.proto', import.meta.url).pathname
const noBytes = Buffer.alloc(0)
let client
const clientOf = (address) => {
  const { dataflow: Dataflow } = grpc.loadPackageDefinition(loadSync(protoPath))
  return new Dataflow(address.grpc, grpc.credentials.createInsecure())
}

const rawStream = async ({ address, results, source }) => {
  client ??= clientOf(address)
  const call = client.Stream()
  let characters = 0
  let onStarted
  const started = new Promise((resolve) => (onStarted = resolve))
  const status = once(call, 'status')
  call.on('error', () => undefined)
  call.on('data', ({ message }) => {
    const json = JSON.parse(message.content)
    if (message.contentType === 'EVENT') characters += json.Data.Text.length
    else onStarted()
  })
  const start = JSON.stringify({ MessageName: 'Start', ProjectName: results })
  call.write({ message: { contentType: 'REQUEST', content: start, binaryContent: noBytes } })
  await started
  const { push, end } = feed(
    source,
    (bytes) => call.write({ message: { contentType: 'AUDIO', content: '', binaryContent: bytes } }),
    () => call.end(),
  )
  return {
    push,
    finish: async () => {
      end()
      await status
      return characters
    },
    close: () => call.cancel(),
  }
}

const open = { websocket: rawSocket, grpc: rawStream }
export const openRaw = (plan) => open[plan.transport](plan)
