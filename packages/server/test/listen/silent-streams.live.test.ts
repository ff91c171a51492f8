import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { startMessage } from '../../../service/test/interop/grpc-message.js'
import { openStream, plainClient } from '../../../service/test/interop/plain-dataflow-client.js'
import { openSocket } from '../../../service/test/interop/plain-socket-client.js'
import { grpcPortOf, plainService, recognizeOf, type PlainService } from '../../../service/test/plain-service.js'
import {
  endHeaders,
  frame,
  frameType,
  ofType,
  preface,
  rawPeer,
  readFrames,
  requestHeaders,
  write,
} from './http2-peer.js'

let service: PlainService
const peers: Socket[] = []
afterEach(async () => {
  for (const peer of peers.splice(0)) peer.destroy()
  await service.close()
})

/** Opens streams without sending anything on them. */
const silentStreams = (count: number): Buffer =>
  Buffer.concat([
    preface,
    ...Array.from({ length: count }, (_, index) =>
      frame(frameType.headers, endHeaders, 2 * index + 1, requestHeaders('/dataflow/Stream')),
    ),
  ])

/** The gRPC status of a Start from another address of this machine. */
const startFrom = async (localAddress: string): Promise<string> => {
  const { token } = service
  const session = connectHttp2(`http://127.0.0.1:${grpcPortOf(service)}`, {
    createConnection: () => connect({ host: '127.0.0.1', port: grpcPortOf(service), localAddress }),
  })
  const request = session.request({
    ':method': 'POST',
    ':path': '/dataflow/Stream',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  request.write(startMessage(token))
  const [answer] = (await once(request, 'data')) as [Buffer]
  request.close()
  session.destroy()
  return answer.toString()
}

describe('an address that opens silent streams', () => {
  it('takes no place from other addresses, and none from sockets with a valid token', async () => {
    service = await plainService({ limits: { unstarted: 300, unstartedPerAddress: 30 } })
    peers.push(...(await Promise.all(Array.from({ length: 4 }, () => rawPeer(grpcPortOf(service), false)))))
    await Promise.all(peers.map((peer) => write(peer, silentStreams(100))))
    // The next stream of its own address is refused, so its streams are counted.
    const client = plainClient(service)
    expect(await openStream(client).ended).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      details: expect.stringMatching(/^overloaded: Too many streams of the service or of this address/) as unknown,
    })
    expect(await startFrom('127.0.0.2')).toContain('"operation-result":"success"')
    const socket = await openSocket(service)
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({
      'message-name': 'recognize-response',
      'operation-result': 'Success',
    })
    socket.raw.terminate()
    client.close()
  })

  it('whose connection exceeds the limit is refused on each stream and gets GOAWAY, without effect on others', async () => {
    service = await plainService({ limits: { connections: 3, streamsPerConnection: 1_000 } })
    for (let count = 0; count < 3; count += 1) peers.push(await rawPeer(grpcPortOf(service), false))
    const tooMany = await rawPeer(grpcPortOf(service), false)
    peers.push(tooMany)
    await write(tooMany, silentStreams(500))
    const frames = await readFrames(tooMany)
    expect(frames.some(ofType(frameType.goAway))).toBe(true)
    peers[0]?.destroy()
    await expect.poll(() => startFrom('127.0.0.1')).toContain('"operation-result":"success"')
  })

  it('has a limited number of streams per connection, which the settings state', async () => {
    service = await plainService({ limits: { streamsPerConnection: 7 } })
    const peer = await rawPeer(grpcPortOf(service), false)
    peers.push(peer)
    await write(peer, silentStreams(200))
    const frames = await readFrames(peer, (all) => all.filter(ofType(frameType.reset)).length === 193)
    const settings = frames.find(ofType(frameType.settings))?.payload ?? Buffer.alloc(0)
    const entries = Array.from({ length: settings.length / 6 }, (_, at) => [
      settings.readUInt16BE(6 * at),
      settings.readUInt32BE(6 * at + 2),
    ])
    // SETTINGS_MAX_CONCURRENT_STREAMS is 3 (RFC 9113 section 6.5.2).
    expect(entries).toContainEqual([3, 7])
    // REFUSED_STREAM is 7 (RFC 9113 section 7).
    const reasons = frames.filter(ofType(frameType.reset)).map(({ payload }) => payload.readUInt32BE(0))
    expect(new Set(reasons)).toEqual(new Set([7]))
  })
})
