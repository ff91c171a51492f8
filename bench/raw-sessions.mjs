// A minimal client for each transport: no library, no codec, no state. The baseline of all ratios.
import grpc from '@grpc/grpc-js'
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { loadDataflow } from '../dist/cjs/grpc.js'

const recognize = JSON.stringify({
  'message-name': 'recognize',
  'audio-format': 'pcm',
  'model-name': 'm',
  'sample-rate': 8000,
})

const rawSocket = async (address) => {
  const socket = new WebSocket(address.ws, { perMessageDeflate: false })
  await once(socket, 'open')
  socket.send(recognize)
  await once(socket, 'message')
  socket.on('message', () => undefined)
  return {
    push: (bytes) => socket.send(bytes),
    flood: async (bytes, count) => {
      for (let sent = 0; sent < count; sent += 1) {
        socket.send(bytes)
        if (socket.bufferedAmount > 262_144) await new Promise((resolve) => socket.send(bytes, resolve))
      }
      socket.send('{"message-name":"finalize-recognition"}')
      await once(socket, 'message')
    },
    close: () => socket.terminate(),
  }
}

const empty = Buffer.alloc(0)
let client
const rawStream = async (address) => {
  const { Stream } = loadDataflow()
  client ??= new grpc.Client(address.grpc, grpc.credentials.createInsecure())
  const { path, requestSerialize, responseDeserialize } = Stream
  const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize)
  call.on('error', () => undefined)
  call.write({ contentType: 2, content: '{"MessageName":"Start"}', binaryContent: empty })
  await once(call, 'data')
  call.on('data', () => undefined)
  return {
    push: (bytes) => call.write({ contentType: 0, content: '', binaryContent: bytes }),
    flood: async (bytes, count) => {
      for (let sent = 0; sent < count; sent += 1) {
        if (!call.write({ contentType: 0, content: '', binaryContent: bytes })) await once(call, 'drain')
      }
      call.end()
      await once(call, 'status')
    },
    close: () => call.cancel(),
  }
}

export const openRaw = { websocket: rawSocket, grpc: rawStream }
