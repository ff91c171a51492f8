import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { metricsCodec, openMergedMetrics, readProcessMetrics } from '../../src/operations/merged-metrics.js'

/** The metrics of a process, as another process receives them. */
const processWith = async (count: number, gauge: number) => {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'sessions_total', help: 'Sessions.', labelNames: ['by'], registers }).inc({ by: 'grpc' }, count)
  new Gauge({ name: 'sessions', help: 'Now.', registers }).set(gauge)
  new Gauge({ name: 'delay', help: 'Delay.', registers, aggregator: 'average' }).set(gauge)
  new Gauge({ name: 'unknown', help: 'Nothing was measured.', registers }).set(NaN)
  new Histogram({ name: 'seconds', help: 'Duration.', buckets: [1, 2], registers }).observe(count)
  const sent: unknown = JSON.parse(JSON.stringify(await readProcessMetrics(registry)))
  expect(metricsCodec.is(sent)).toBe(true)
  return metricsCodec.is(sent) ? sent : []
}

const values = (page: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    page
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )

describe('MergedMetrics', () => {
  it('adds up counters, gauges and histograms, and takes the largest of delays', async () => {
    const merged = await openMergedMetrics()
    merged.update(1, await processWith(1, 5))
    merged.update(2, await processWith(2, 7))
    expect(values(await merged.text())).toEqual({
      'sessions_total{by="grpc"}': 3,
      sessions: 12,
      delay: 7,
      'seconds_bucket{le="1"}': 1,
      'seconds_bucket{le="2"}': 2,
      'seconds_bucket{le="+Inf"}': 2,
      seconds_sum: 3,
      seconds_count: 2,
    })
  })

  it('keeps what an ended process has counted, and not its gauges', async () => {
    const merged = await openMergedMetrics()
    merged.update(1, await processWith(1, 5))
    merged.update(2, await processWith(2, 7))
    merged.ended(1)
    merged.update(3, await processWith(4, 1))
    merged.ended(3)
    expect(values(await merged.text())).toMatchObject({
      'sessions_total{by="grpc"}': 7,
      sessions: 7,
      delay: 7,
      seconds_sum: 7,
      seconds_count: 3,
    })
  })

  it('knows only what was collected last', async () => {
    const merged = await openMergedMetrics()
    merged.update(1, await processWith(1, 5))
    merged.update(1, await processWith(3, 6))
    expect(values(await merged.text())).toMatchObject({ 'sessions_total{by="grpc"}': 3, sessions: 6 })
  })
})
