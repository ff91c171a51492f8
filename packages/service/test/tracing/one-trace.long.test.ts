import * as openTelemetry from '@opentelemetry/api'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { faultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import { natsIsSkipped, natsTitle } from '../../../nats/test/connection/nats-server.js'
import { delay } from '../../../nats/test/engines/delay.js'
import { callThrough, LiveFleet } from '../../../nats/test/engines/live-fleet.js'
import { startCollector, type Collector, type SeenSpan } from './collector.js'

let collector: Collector
let fleet: LiveFleet

/** The spans of other processes are sent in batches. */
const spansOf = async (name: string, count: number): Promise<readonly SeenSpan[]> => {
  await expect.poll(() => collector.named(name).length).toBeGreaterThanOrEqual(count)
  return collector.named(name)
}

const only = <T>(items: readonly T[]): T => {
  const [item] = items
  if (item === undefined || items.length > 1) throw new Error(`There are ${items.length} of them.`)
  return item
}

describe.skipIf(natsIsSkipped)(natsTitle('a call through a service and an engine process'), () => {
  beforeAll(async () => {
    collector = await startCollector()
    fleet = await LiveFleet.start()
    await fleet.startEngine([], collector.env)
  })
  afterEach(() => collector.clear())
  afterAll(async () => {
    await fleet.close()
    await collector.close()
  })

  it.each(['grpc', 'websocket'] as const)('is one trace over %s, from the client to the engine', async (over) => {
    const service = await fleet.startService()
    const heard = await callThrough(service, { over, speed: 6, openTelemetry })
    // Over the WebSocket, each channel is a session of the service.
    const channels = over === 'grpc' ? 1 : 2
    const session = only(collector.named('rxspeech.session'))
    const served = await spansOf('rxspeech.serve', channels)
    const segments = collector.named('rxspeech.segment')
    const recognized = await spansOf('rxspeech.recognize', segments.length)
    expect(collector.spans().map(({ traceId }) => traceId)).toEqual(collector.spans().map(() => session.traceId))
    expect(served.map(({ parentId }) => parentId)).toEqual(Array(channels).fill(session.spanId))
    const parents = new Set(served.map(({ spanId }) => spanId))
    expect(segments.filter(({ parentId }) => !parents.has(parentId))).toEqual([])
    expect(recognized.map(({ parentId }) => parentId).toSorted()).toEqual(
      segments.map(({ spanId }) => spanId).toSorted(),
    )
    expect(segments.length).toBeGreaterThanOrEqual(heard.length)
    for (const { events, isError } of segments) {
      expect(events).toContain('audio ended')
      expect(isError).toBe(false)
    }
    expect(session).toMatchObject({ parentId: '', isError: false })
    expect(served[0]?.attributes).toMatchObject({ 'rxspeech.outcome': 'completed', 'rxspeech.interface': over })
    expect(recognized[0]?.attributes).toMatchObject({ 'rxspeech.engine': 'engine-1' })
    // Neither what was said, nor who said it.
    const text = collector
      .spans()
      .map((span) => span.text)
      .join('\n')
    expect(text).not.toMatch(/harbor|good evening|eyJ|Bearer|"client"|127\.0\.0\.1/)
  })

  it('continues in the span that is active where the session is subscribed', async () => {
    const service = await fleet.startService()
    const outer = openTelemetry.trace.getTracer('test').startSpan('call center')
    const active = openTelemetry.trace.setSpan(openTelemetry.ROOT_CONTEXT, outer)
    await openTelemetry.context.with(active, () => callThrough(service, { speed: 6, openTelemetry }))
    outer.end()
    expect(only(await spansOf('rxspeech.session', 1)).parentId).toBe(outer.spanContext().spanId)
  })

  it('stays one trace when the connection is lost and the session resumed', async () => {
    const service = await fleet.startService()
    const proxy = await faultProxy({ target: Number(new URL(service.wsUrl).port) })
    const wsUrl = `ws://${proxy.address}`
    await callThrough(service, { over: 'websocket', speed: 2, wsUrl, openTelemetry }, async () => {
      await delay(4_000)
      proxy.reset()
    })
    await proxy.close()
    const served = await spansOf('rxspeech.serve', 4)
    const session = only(collector.named('rxspeech.session'))
    expect(session.events).toEqual(expect.arrayContaining(['reconnecting', 'resumed']))
    expect(session.isError).toBe(false)
    expect(served.map(({ parentId }) => parentId)).toEqual(Array(4).fill(session.spanId))
    const outcomes = served.map(({ attributes }) => attributes['rxspeech.outcome'])
    expect(outcomes.toSorted()).toEqual(['completed', 'completed', 'gone', 'gone'])
  })

  it('has every attempt in the span of a segment that is retried', async () => {
    const service = await fleet.startService()
    await fleet.startEngine([], collector.env)
    await callThrough(service, { openTelemetry, speed: 2 }, async () => {
      await delay(2_000)
      const busy = await fleet.busy()
      await busy.kill()
    })
    const retried = collector.named('rxspeech.segment').filter(({ events }) => events.includes('attempt failed'))
    expect(retried.length).toBeGreaterThan(0)
    for (const { isError, text, spanId } of retried) {
      expect(isError).toBe(false)
      expect(text).toMatch(/The engine process engine-\d \([\da-f]{16}\) ended/)
      await expect
        .poll(() => collector.named('rxspeech.recognize').filter(({ parentId }) => parentId === spanId).length)
        .toBe(1)
    }
  })
})
