// A service that answers as the protocol requires and ignores the audio, so that the measured cost is that of the
// client.
import grpc from '@grpc/grpc-js'
import { WebSocketServer } from 'ws'
import { loadDataflow } from '../dist/cjs/grpc.js'

const answers = {
  recognize: { 'message-name': 'recognize-response', 'operation-result': 'Success', 'recognition-id': 'r' },
  'finalize-recognition': {
    'message-name': 'final-result',
    'operation-result': 'Success',
    'recognition-id': 'r',
    text: '',
    confidence: '0.00',
  },
}

const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
sockets.on('connection', (socket) => {
  socket.on('message', (data, isBinary) => {
    if (!isBinary) socket.send(JSON.stringify(answers[JSON.parse(data.toString())['message-name']]))
  })
})

const success = { contentType: 3, content: '{"operation-result":"success"}', binaryContent: Buffer.alloc(0) }
const server = new grpc.Server()
server.addService(
  { ...loadDataflow() },
  {
    Stream: (call) => {
      call.once('data', () => call.write(success))
      call.on('data', () => undefined)
      call.on('end', () => call.end())
      call.on('error', () => undefined)
    },
  },
)
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.send({ ws: `ws://127.0.0.1:${sockets.address().port}`, grpc: `127.0.0.1:${port}` })
})
process.on('disconnect', () => process.exit())
