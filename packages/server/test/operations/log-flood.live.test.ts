import { afterEach, expect, it } from 'vitest'
import { noopMonitor } from '../../src/monitor/service-monitor.js'
import { plainService, type PlainService } from '../../../service/test/plain-service.js'
import { endHeaders, frame, frameType, preface, rawPeer, requestHeaders, write } from '../listen/http2-peer.js'

let service: PlainService | undefined
afterEach(() => service?.close())

/** Each stream is opened and reset with CANCEL. */
const openAndReset = (count: number): Buffer =>
  Buffer.concat([
    preface,
    ...Array.from({ length: count }, (_, index) => {
      const streamId = 2 * index + 1
      const open = frame(frameType.headers, endHeaders, streamId, requestHeaders('/dataflow/Stream'))
      return Buffer.concat([open, frame(frameType.reset, 0, streamId, Buffer.from([0, 0, 0, 8]))])
    }),
  ])

it('limits the lines about streams that clients open and reset, and counts the omitted ones', async () => {
  const lines: string[] = []
  let ended = 0
  const monitor = { ...noopMonitor, sessionEnded: () => (ended += 1), refused: () => undefined }
  const logger = {
    log: (_level: string, message: string) => {
      lines.push(message)
    },
  }
  const operations = { host: '127.0.0.1', port: 0 }
  service = await plainService({ logger, monitor, operations })
  const [, port] = service.started.grpcAddress.split(':')
  const peers = await Promise.all([1, 2, 3, 4].map(() => rawPeer(Number(port), false)))
  for (const peer of peers) await write(peer, openAndReset(225))
  await expect.poll(() => ended).toBe(900)
  for (const peer of peers) peer.destroy()
  const written = lines.filter((line) => line === 'Session ended').length
  expect(written).toBe(60)
  const metrics = await (await fetch(`${service.started.operationsUrl ?? ''}/metrics`)).text()
  expect(metrics).toContain('rxspeech_log_lines_left_out_total{line="Session ended"} 840')
})
