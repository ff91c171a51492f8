// One short session on either interface, ended in one of five ways, by clients that use only the wire protocol.
import { once } from 'node:events'
import { connect } from 'node:http2'
import { WebSocket } from 'ws'
import { loadDataflow } from '../../dist/cjs/transport/grpc/proto.js'

export const ways = ['final', 'stop', 'close', 'kill', 'refusal']

/** Half a second of audio that is not silent. */
const audio = Buffer.from(Int16Array.from({ length: 4_000 }, (_none, at) => 8_000 * Math.sin(at * at)).buffer)

const recognize = {
  'message-name': 'recognize',
  'audio-format': 'pcm',
  'sample-rate': 8000,
  'model-name': 'm',
}

/** The messages of a socket, one at a time: several may arrive together. */
const listen = (socket) => {
  const messages = []
  let onReceived = () => undefined
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)))
    onReceived()
  })
  return async () => {
    while (messages.length === 0) await new Promise((resolve) => (onReceived = resolve))
    return messages.shift()
  }
}
const expectResult = (message, wanted) => {
  const result = String(message['operation-result'])
  if (!result.toLowerCase().startsWith(wanted)) throw new Error(`Expected ${wanted}, received ${result}.`)
}

/** One recognition on a separate socket. */
export const socketSession = async ({ wsUrl, token }, way) => {
  const socket = new WebSocket(`${wsUrl}/recognizer`, { headers: { Authorization: `Bearer ${token}` } })
  socket.on('error', () => undefined)
  const received = listen(socket)
  await once(socket, 'open')
  const closed = once(socket, 'close')
  const send = (message) => socket.send(JSON.stringify(message))
  send(way === 'refusal' ? { ...recognize, 'model-name': 'none' } : recognize)
  expectResult(await received(), way === 'refusal' ? 'model-denied' : 'success')
  if (way !== 'refusal') socket.send(audio)
  if (way === 'final') {
    send({ 'message-name': 'finalize-recognition' })
    for (;;) {
      const message = await received()
      if (message['message-name'] === 'final-result') break
    }
  } else if (way === 'stop') {
    send({ 'message-name': 'stop-recognition' })
    while ((await received())['message-name'] !== 'stop-recognition-response');
  }
  if (way === 'kill') socket.terminate()
  else socket.close(1000)
  await closed
}

const { requestSerialize, responseDeserialize } = loadDataflow().Stream
const none = new Uint8Array(0)
const framed = (message) => {
  const bytes = requestSerialize(message)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}
const requestFrame = (json) => framed({ contentType: 2, content: JSON.stringify(json), binaryContent: none })
const audioFrame = framed({ contentType: 0, content: '', binaryContent: audio })

const start = (token, way) => ({
  MessageName: 'Start',
  Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
  Tenant: 'Default',
  Token: token,
  ProjectName: way === 'refusal' ? 'none' : 'transcribe',
})

const openChannel = async ({ grpc }) => {
  const channel = connect(`http://${grpc}`)
  channel.on('error', () => undefined)
  await once(channel, 'connect')
  return channel
}

/** The JSON of the first message of the service. */
const firstResponse = (stream) =>
  new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    let done = false
    stream.on('data', (data) => {
      if (done) return
      bytes = Buffer.concat([bytes, data])
      if (bytes.length < 5 || bytes.length < 5 + bytes.readUInt32BE(1)) return
      done = true
      resolve(JSON.parse(responseDeserialize(bytes.subarray(5, 5 + bytes.readUInt32BE(1))).content))
    })
    stream.once('close', () => reject(new Error('The stream ended without a response.')))
  })

const streamHeaders = {
  ':method': 'POST',
  ':path': '/dataflow/Stream',
  'content-type': 'application/grpc',
  te: 'trailers',
}

/** Node cuts a connection whose client resets streams too often: 1000 at once, then 33 a second (CVE-2023-44487). */
const streamsPerChannel = 500
let shared
let streams = 0

/** A stream on the channel that streams share, which is renewed from time to time. */
const sharedStream = async (address) => {
  if (streams % streamsPerChannel === 0) shared = { channel: openChannel(address), ended: 0 }
  streams += 1
  const current = shared
  const channel = await current.channel
  // Not before its last stream has ended: the service refuses those of a client that goes away.
  return channel.request(streamHeaders).once('close', () => {
    if ((current.ended += 1) === streamsPerChannel) channel.close()
  })
}

/** A stream on the shared channel, or on a separate one if the channel is to be killed. */
export const streamSession = async (address, way) => {
  const own = way === 'kill'
  const channel = own ? await openChannel(address) : undefined
  const stream = channel?.request(streamHeaders) ?? (await sharedStream(address))
  stream.on('error', () => undefined)
  const closed = once(stream, 'close')
  let status
  stream.on('trailers', (trailers) => (status = trailers['grpc-status']))
  stream.write(requestFrame(start(address.token, way)))
  expectResult(await firstResponse(stream), way === 'refusal' ? 'project-denied' : 'success')
  if (way !== 'refusal') stream.write(audioFrame)
  if (own) channel.destroy()
  else if (way === 'close') stream.close(8)
  else if (way === 'stop') stream.end(requestFrame({ MessageName: 'Stop' }))
  else stream.end()
  await closed
  const wanted = { final: '0', stop: '0', refusal: '7' }[way]
  if (status !== wanted) throw new Error(`Expected the status ${wanted}, received ${status}.`)
}

export const closeShared = () => shared?.channel.then((channel) => channel.destroy())
