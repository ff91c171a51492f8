// A service that answers as the protocol requires and ignores the audio, so that the measured cost is that of the
// client. The model or the project of a session says which results it gets: `none`; `timed` or `untimed`, a partial for
// every 10 messages of audio and a milestone for every 100.
import grpc from '@grpc/grpc-js'
import { WebSocketServer } from 'ws'
import { loadDataflow } from '../../dist/cjs/transport/grpc/proto.js'

const partialEvery = 10
const milestoneEvery = 100
const chunkMs = 20

const partialText = 'and then we will need the number of your order'
const milestoneText = ' And then we will need the number of your order, please.'
const words = milestoneText.trim().split(' ')

/** The result after a number of messages of audio, if there is one. */
const resultAfter = (count, isTimed) => {
  if (count % partialEvery !== 0) return undefined
  const isMilestone = count % milestoneEvery === 0
  const startCount = isMilestone ? count - milestoneEvery : count - (count % milestoneEvery)
  const times = isTimed ? { startMs: startCount * chunkMs, endMs: count * chunkMs } : {}
  return { isMilestone, text: isMilestone ? milestoneText : partialText, ...times }
}

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

const socketResult = ({ isMilestone, text, startMs, endMs }) =>
  JSON.stringify({
    'message-name': isMilestone ? 'milestone-result' : 'partial-result',
    'recognition-id': 'r',
    ...(startMs !== undefined && { 'start-msec': String(startMs), 'end-msec': String(endMs) }),
    text,
  })

const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false, backlog: 2048 })
sockets.on('connection', (socket) => {
  let results = 'none'
  let count = 0
  socket.on('message', (data, isBinary) => {
    if (isBinary) {
      count += 1
      const result = results === 'none' ? undefined : resultAfter(count, results === 'timed')
      if (result !== undefined) socket.send(socketResult(result))
      return
    }
    const request = JSON.parse(data.toString())
    results = request['model-name'] ?? results
    socket.send(JSON.stringify(answers[request['message-name']]))
  })
})

const wordsOf = (startMs, endMs) => {
  const wordMs = Math.floor((endMs - startMs) / words.length)
  return words.map((text, index) => {
    const fromMs = startMs + index * wordMs
    return { Text: text, StartMsec: fromMs, EndMsec: fromMs + wordMs, Confidence: 0.9 }
  })
}

const noBytes = Buffer.alloc(0)

const streamResult = ({ isMilestone, text, startMs, endMs }) => ({
  contentType: 1,
  content: JSON.stringify({
    Name: isMilestone ? 'SR Milestone' : 'SR Partial',
    Channel: 0,
    StartMsec: startMs ?? -1,
    EndMsec: endMs ?? -1,
    GroupId: '',
    Tags: [],
    Data: {
      Text: text,
      RecognitionId: 'r',
      ...(isMilestone && { Confidence: 0.9 }),
      ...(isMilestone && startMs !== undefined && { Words: wordsOf(startMs, endMs) }),
    },
  }),
  binaryContent: noBytes,
})

const streamFinal = {
  contentType: 1,
  content: JSON.stringify({ Name: 'SR Final', Channel: 0, Data: { Text: '', RecognitionId: 'r' } }),
  binaryContent: noBytes,
}
const success = { contentType: 3, content: '{"operation-result":"success"}', binaryContent: noBytes }
const server = new grpc.Server()
server.addService(
  { ...loadDataflow() },
  {
    Stream: (call) => {
      let results = 'none'
      let count = 0
      call.on('data', ({ contentType, content }) => {
        if (contentType === 2) {
          results = JSON.parse(content).ProjectName
          call.write(success)
          return
        }
        count += 1
        const result = results === 'none' ? undefined : resultAfter(count, results === 'timed')
        if (result !== undefined) call.write(streamResult(result))
      })
      call.on('end', () => {
        if (results !== 'none') call.write(streamFinal)
        call.end()
      })
      call.on('error', () => undefined)
    },
  },
)
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.send({ ws: `ws://127.0.0.1:${sockets.address().port}`, grpc: `127.0.0.1:${port}` })
})
process.on('disconnect', () => process.exit())
