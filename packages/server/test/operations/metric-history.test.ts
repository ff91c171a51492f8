import { describe, expect, it } from 'vitest'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
import type { ProcessMetric } from '../../src/operations/merged-metrics.js'
import { MetricHistory } from '../../src/operations/metric-history.js'

type Values = ProcessMetric['values']

const metric = (name: string, values: Values): ProcessMetric => ({
  name,
  help: '',
  type: 'counter',
  aggregator: 'sum',
  values,
})

/** Cumulative counts of the buckets, as Prometheus has them. */
const delays = (model: string, counts: readonly number[]): Values =>
  ['0.1', '0.5', '1', '+Inf'].map((le, at) => ({
    metricName: 'rxspeech_milestone_seconds_bucket',
    labels: { interface: 'grpc', model, le },
    value: counts[at] ?? 0,
  }))

const openHistory = () => {
  const clock = new VirtualClock()
  const metrics: { now: readonly ProcessMetric[] | Error } = { now: [] }
  const faults: unknown[] = []
  const history = new MetricHistory({
    collect: () => (metrics.now instanceof Error ? Promise.reject(metrics.now) : Promise.resolve(metrics.now)),
    scheduler: clock,
    onFault: (error) => faults.push(error),
  })
  return {
    clock,
    faults,
    history,
    sample: async (now: readonly ProcessMetric[] | Error, afterMs = 10_000) => {
      metrics.now = now
      clock.advanceTo(clock.now() + afterMs)
      await flushPromises()
    },
  }
}

const audio = (seconds: number, model = 'm', tenant = 't') => ({
  labels: { interface: 'grpc', tenant, model },
  value: seconds,
})

describe('the history of metrics', () => {
  it('has delays of a tenant, of a metric of their own', async () => {
    const { sample, history } = openHistory()
    const ofTenant = delays('m', [0, 10, 10, 10]).map((each) => ({ ...each, labels: { ...each.labels, tenant: 't' } }))
    await sample([metric('rxspeech_tenant_milestone_seconds', ofTenant)])
    expect(history.report.charts.lag['tenant']).toEqual({ t: [0.48] })
  })

  it('has rates of counters by model and tenant, from the start on', async () => {
    const { sample, history } = openHistory()
    await sample([metric('rxspeech_audio_seconds_total', [audio(5)])])
    await sample([metric('rxspeech_audio_seconds_total', [audio(25), audio(10, 'n')])])
    await sample([metric('rxspeech_audio_seconds_total', [audio(25), audio(40, 'n', 'u')])])
    expect(history.report).toMatchObject({
      everyMs: 10_000,
      atMs: [10_000, 20_000, 30_000],
      charts: {
        audio: {
          all: { all: [0.5, 3, 3] },
          model: { m: [0.5, 2, 0], n: [null, 1, 3] },
          tenant: { t: [0.5, 3, null], u: [null, null, 4] },
        },
      },
    })
  })

  it('has no value where a counter counts from 0 again, and after a pause', async () => {
    const { sample, history } = openHistory()
    for (const [total, afterMs] of [
      [50, 10_000],
      [60, 10_000],
      [10, 10_000],
      [20, 10_000],
      [90, 60_000],
      [100, 10_000],
    ] as const) {
      await sample([metric('rxspeech_refusals_total', [{ labels: { code: 'overloaded' }, value: total }])], afterMs)
    }
    expect(history.report.charts.refusals).toEqual({ code: { overloaded: [300, 60, null, 60, null, 60] } })
  })

  it('has how many sessions ran on average, also one that ended before the sample', async () => {
    const { sample, history } = openHistory()
    const ran = (model: string, seconds: number) => ({ labels: { tenant: 't', model }, value: seconds })
    await sample([metric('rxspeech_session_seconds_total', [ran('m', 20), ran('n', 1)])])
    await sample([metric('rxspeech_session_seconds_total', [ran('m', 60), ran('n', 1)])])
    expect(history.report.charts.running).toEqual({
      all: { all: [2.1, 4] },
      model: { m: [2, 4], n: [0.1, 0] },
      tenant: { t: [2.1, 4] },
    })
  })

  it('has the p50 and p95 of the delays of the last minute', async () => {
    const { sample, history } = openHistory()
    const lag = () => history.report.charts.lag
    await sample([metric('rxspeech_milestone_seconds', delays('m', [0, 0, 0, 0]))])
    await sample([metric('rxspeech_milestone_seconds', delays('m', [0, 10, 10, 10]))])
    expect(lag()).toEqual({ all: { p50: [null, 0.3], p95: [null, 0.48] }, model: { m: [null, 0.48] } })
    // Beyond the last bound there is only the bound.
    await sample([metric('rxspeech_milestone_seconds', delays('m', [10, 20, 20, 120]))])
    expect([lag()['all']?.['p95']?.at(-1), lag()['all']?.['p50']?.at(-1)]).toEqual([1, 1])
    for (let at = 0; at < 6; at += 1) {
      await sample([metric('rxspeech_milestone_seconds', delays('m', [10, 20, 20, 120]))])
    }
    expect(lag()['model']?.['m']?.slice(-2)).toEqual([1, null])
  })

  it('keeps an hour, and the first names; further ones are other', async () => {
    const { sample, history } = openHistory()
    const ranS = (value: number) =>
      Array.from({ length: 30 }, (_, at) => ({ labels: { tenant: 't', model: `m${at}` }, value }))
    for (let at = 1; at <= 365; at += 1) await sample([metric('rxspeech_session_seconds_total', ranS(10 * at))])
    const { atMs, charts } = history.report
    expect([atMs.length, atMs[0], atMs.at(-1)]).toEqual([360, 60_000, 3_650_000])
    expect(Object.keys(charts.running['model'] ?? {})).toHaveLength(21)
    expect(charts.running['model']?.['other']?.at(-1)).toBe(10)
    expect(charts.running['tenant']?.['t']).toEqual(Array(360).fill(30))
  })

  it('reports metrics that cannot be read, goes on, and ends its timer', async () => {
    const { sample, history, faults, clock } = openHistory()
    await sample(new Error('lost'))
    await sample([])
    expect([faults.map(String), history.report.atMs]).toEqual([['Error: lost'], [20_000]])
    history.close()
    expect(clock.waiting).toBe(0)
  })
})
