// The floor of the measured service, in a separate process: servers of `ws` and of the gRPC package that read the same
// messages, answer a start, count the audio, and do nothing else.
import { createServer } from 'node:http'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { WebSocketServer } from 'ws'
import { measurements } from './measurements.mjs'

let bytes = 0

const http = createServer((request, response) => {
  request.resume()
  response.end(JSON.stringify({ access_token: 'bare' }))
})
const sockets = new WebSocketServer({ server: http, perMessageDeflate: false })
sockets.on('connection', (socket) => {
  socket.on('message', (data, isBinary) => {
    if (isBinary) bytes += data.length
    else socket.send(JSON.stringify({ 'message-name': 'recognize-response', 'operation-result': 'Success' }))
  })
})
await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
const { port } = http.address()

const proto = new URL('../../proto/dataflow.proto', import.meta.url).pathname
const service = loadSync(proto, { keepCase: true, defaults: true })['dataflow']
const grpc = new Server()
grpc.addService(service, {
  Stream: (call) => {
    call.on('data', ({ message }) => {
      if (message.content_type === 'AUDIO' || message.content_type === 0) bytes += message.binary_content.length
      else if (JSON.parse(message.content).MessageName === 'Stop') call.end()
      else call.write({ message: { content: JSON.stringify({ 'operation-result': 'success' }), content_type: 3 } })
    })
    call.on('end', () => call.end())
  },
})
const grpcPort = await new Promise((resolve, reject) =>
  grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
    error === null ? resolve(bound) : reject(error),
  ),
)

measurements({
  access: () => ({
    wsUrl: `ws://127.0.0.1:${port}`,
    grpc: `127.0.0.1:${grpcPort}`,
    authUrl: `http://127.0.0.1:${port}`,
    clientSecret: 'bare',
  }),
  close: () => bytes,
})
