import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { noopMonitor } from '../../src/monitor/service-monitor.js'
import { openStream, plainClient } from '../../../service/test/interop/plain-dataflow-client.js'
import { grpcPortOf, plainService, startOf, type PlainService } from '../../../service/test/plain-service.js'
import { startMessage } from '../../../service/test/interop/grpc-message.js'
import {
  endHeaders,
  frame,
  frameType,
  literal,
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

const times = (count: number, make: (index: number) => Uint8Array): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)))

const open = (streamId: number, flags: number): Buffer =>
  frame(frameType.headers, flags, streamId, requestHeaders('/dataflow/Stream'))

const cancel = Buffer.from([0, 0, 0, 8])
const header = literal('x', 'y'.repeat(100))

/** More than half a megabyte of each. */
const floods: readonly (readonly [string, () => Buffer])[] = [
  ['PING', () => times(50_000, () => frame(frameType.ping, 0, 0, Buffer.alloc(8)))],
  ['SETTINGS', () => times(50_000, () => frame(frameType.settings, 0, 0, Buffer.from([0, 4, 0, 0, 255, 255])))],
  ['CONTINUATION', () => Buffer.concat([open(1, 0), times(5_000, () => frame(frameType.continuation, 0, 1, header))])],
  ['empty CONTINUATION', () => Buffer.concat([open(1, 0), times(50_000, () => frame(frameType.continuation, 0, 1))])],
  ['empty DATA', () => Buffer.concat([open(1, endHeaders), times(50_000, () => frame(frameType.data, 0, 1))])],
]

const expectServed = async (): Promise<void> => {
  const client = plainClient(service)
  const stream = openStream(client)
  stream.request(startOf(service.token))
  await stream.answered
  expect(stream.responses).toMatchObject([{ MessageName: 'StartResponse', 'operation-result': 'success' }])
  stream.stream.cancel()
  client.close()
}

describe('a client that floods its gRPC connection with frames', () => {
  it.each(floods)('of %s does not affect other clients', async (_name, flood) => {
    service = await plainService()
    const port = grpcPortOf(service)
    const bytes = flood()
    // One reads its responses, the other does not.
    for (const reads of [true, false]) {
      const peer = await rawPeer(port, false)
      peers.push(peer)
      if (reads) peer.resume()
      peer.write(Buffer.concat([preface, bytes]))
    }
    await expectServed()
  })

  it.each([
    ['without a token', undefined, 65_000],
    ['of a token', { maxRequestsPerSecond: 1, requestBurst: 10 }, 20_000],
  ] as const)(
    '%s that cuts its data into single bytes gets its stream reset, and GOAWAY',
    async (_who, limits, count) => {
      service = await plainService(limits && { limits })
      const peer = await rawPeer(grpcPortOf(service), false)
      peers.push(peer)
      const start = limits === undefined ? [] : [frame(frameType.data, 0, 1, startMessage(service.token))]
      await write(peer, Buffer.concat([preface, open(1, endHeaders), ...start]))
      if (limits !== undefined) await readFrames(peer, (all) => all.some(ofType(frameType.data)))
      const beginning = frame(frameType.data, 0, 1, Buffer.from([0, 0, 1, 0, 0]))
      await write(peer, Buffer.concat([beginning, times(count, () => frame(frameType.data, 0, 1, Buffer.from([65])))]))
      const frames = await readFrames(
        peer,
        (all) => all.some(ofType(frameType.reset)) && all.some(ofType(frameType.goAway)),
      )
      // ENHANCE_YOUR_CALM (RFC 9113 section 7).
      expect(frames.find(ofType(frameType.reset))?.payload.readUInt32BE(0)).toBe(11)
    },
  )

  it('that open and reset streams has a limited number of them handled, and the others reset unread (CVE-2023-44487)', async () => {
    let opened = 0
    const sessionMoved = (_session: unknown, from: string | undefined): void => {
      if (from === undefined) opened += 1
    }
    service = await plainService({ monitor: { ...noopMonitor, sessionMoved } })
    const port = grpcPortOf(service)
    const peer = await rawPeer(port, false)
    peers.push(peer)
    const beganMs = performance.now()
    const resets = times(5_000, (index) =>
      Buffer.concat([open(2 * index + 1, endHeaders), frame(frameType.reset, 0, 2 * index + 1, cancel)]),
    )
    await write(peer, Buffer.concat([preface, resets]))
    await expectServed()
    expect(opened).toBeGreaterThanOrEqual(500)
    // The allowance grows meanwhile; without one all 5,000 would be handled.
    expect(opened).toBeLessThanOrEqual(501 + (50 * (performance.now() - beganMs)) / 1000)
  })
})
