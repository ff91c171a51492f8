import type { SchedulerLike, Unsubscribable } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { ProcessMetric } from './merged-metrics.js'
import type { MetricName } from './metric-table.js'
import { LabelLimiter } from './metrics.js'

/** One sample every ten seconds, for one hour. */
const everyMs = 10_000
const capacity = 360
/** Values of a label with a series of their own; further ones are `other`. */
const maxNames = 20
/** A delay is that of the results of the last minute, because ten seconds have few. */
const delaySamples = 6
/** After a longer pause, as of a machine that slept, counters are not compared. */
const maxPauseMs = 25_000

interface ChartRow {
  /** What a sample is: the rate of a counter, or quantiles of a histogram, in seconds. */
  readonly as: 'per second' | 'per minute' | 'delay'
  /** What its series are: one of the sum, or one for each value of a label of this metric. */
  readonly by: Readonly<Partial<Record<'all' | 'model' | 'tenant' | 'code', MetricName>>>
}

const byUse = (metric: MetricName) => ({ all: metric, model: metric, tenant: metric })

const chartTable = {
  // Not of how many run at each sample, which misses those that are shorter.
  running: { as: 'per second', by: byUse('rxspeech_session_seconds_total') },
  audio: { as: 'per second', by: byUse('rxspeech_audio_seconds_total') },
  lag: {
    as: 'delay',
    by: { ...byUse('rxspeech_milestone_seconds'), tenant: 'rxspeech_tenant_milestone_seconds' },
  },
  refusals: { as: 'per minute', by: { code: 'rxspeech_refusals_total' } },
} as const satisfies Readonly<Record<string, ChartRow>>

/** The last hour of a service, at most; it begins with the start of the service. */
export interface MetricHistoryReport {
  readonly everyMs: number
  /** When the samples were taken, oldest first. */
  readonly atMs: readonly number[]
  /**
   * The series of each chart by their group and name, with a number for each sample, or null where there is none. The
   * group `all` has one series of this name, and of delays `p50` and `p95`; a delay of a model or a tenant is its p95.
   */
  readonly charts: Readonly<
    Record<keyof typeof chartTable, Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>>>
  >
}

export interface MetricHistoryOptions {
  readonly collect: () => Promise<readonly ProcessMetric[]>
  readonly scheduler: SchedulerLike
  readonly onFault: (error: unknown) => void
}

/** Keeps the last hour of some metrics, in rings of four bytes a sample. */
export class MetricHistory {
  readonly #options: MetricHistoryOptions
  readonly #charts: readonly { readonly name: string; readonly chart: Chart }[]
  readonly #times = new Float64Array(capacity)
  #count = 0
  #timer: Unsubscribable | undefined
  #isClosed = false

  constructor(options: MetricHistoryOptions) {
    this.#options = options
    const startMs = options.scheduler.now()
    this.#charts = Object.entries(chartTable).map(([name, row]) => ({ name, chart: new Chart(row, startMs) }))
    this.#wait()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.unsubscribe()
  }

  get report(): MetricHistoryReport {
    const first = Math.max(0, this.#count - capacity)
    const indexes = Array.from({ length: this.#count - first }, (_, at) => (first + at) % capacity)
    const charts = this.#charts.map(({ name, chart }) => [name, chart.report(indexes)])
    return {
      everyMs,
      atMs: indexes.map((index) => this.#times[index] ?? 0),
      charts: Object.fromEntries(charts) as MetricHistoryReport['charts'],
    }
  }

  #wait(): void {
    const { scheduler, collect, onFault } = this.#options
    this.#timer = schedule(scheduler, everyMs, () => {
      void collect()
        .then((metrics) => this.#add(metrics))
        .catch(onFault)
        .finally(() => {
          if (!this.#isClosed) this.#wait()
        })
    })
  }

  #add(metrics: readonly ProcessMetric[]): void {
    const atMs = this.#options.scheduler.now()
    const index = this.#count % capacity
    this.#times[index] = atMs
    for (const { chart } of this.#charts) chart.add(index, atMs, metrics)
    this.#count += 1
  }
}

/** Of each group and name a total, or of a histogram one for each bucket. */
type Totals = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>

interface Counted {
  readonly atMs: number
  readonly totals: Totals
}

class Chart {
  readonly #row: ChartRow
  readonly #rings = new Map<string, Map<string, Float32Array>>()
  readonly #limiters = new Map<string, LabelLimiter>()
  /** The last samples, oldest first; at the start all is 0. */
  #recent: readonly Counted[]
  /** The upper bounds of the buckets. */
  #bounds: readonly number[] = []

  constructor(row: ChartRow, startMs: number) {
    this.#row = row
    this.#recent = [{ atMs: startMs, totals: new Map() }]
  }

  add(index: number, atMs: number, metrics: readonly ProcessMetric[]): void {
    const { as, by } = this.#row
    const valuesOf = (metric: string) => metrics.find(({ name }) => name === metric)?.values ?? []
    const totals = new Map(Object.entries(by).map(([group, metric]) => [group, this.#totals(valuesOf(metric), group)]))
    const lastMs = this.#recent.at(-1)?.atMs
    if (lastMs !== undefined && atMs - lastMs > maxPauseMs) this.#recent = []
    for (const rings of this.#rings.values()) for (const ring of rings.values()) ring[index] = NaN
    const before = as === 'delay' ? this.#recent[0] : this.#recent.at(-1)
    if (before !== undefined) this.#compare(index, before, { atMs, totals })
    this.#recent = [...this.#recent.slice(1 - delaySamples), { atMs, totals }]
  }

  report(indexes: readonly number[]): Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>> {
    const seriesOf = (rings: ReadonlyMap<string, Float32Array>) =>
      Object.fromEntries([...rings].map(([name, ring]) => [name, indexes.map((index) => jsonOf(ring[index]))] as const))
    return Object.fromEntries([...this.#rings].map(([group, rings]) => [group, seriesOf(rings)] as const))
  }

  #compare(index: number, before: Counted, now: Counted): void {
    for (const [group, named] of now.totals) {
      for (const [name, total] of named) {
        const past = before.totals.get(group)?.get(name) ?? []
        const grown = total.map((count, at) => count - (past[at] ?? 0))
        // It counts from 0 again, as after the end of a worker.
        if (grown.some((count) => count < 0)) continue
        this.#addGrown(index, group, name, grown, (now.atMs - before.atMs) / 1000)
      }
    }
  }

  #addGrown(index: number, group: string, name: string, grown: readonly number[], seconds: number): void {
    const { as } = this.#row
    if (as !== 'delay') {
      this.#ring(group, name)[index] = ((grown[0] ?? 0) / seconds) * (as === 'per minute' ? 60 : 1)
      return
    }
    if (group === 'all') this.#ring(group, 'p50')[index] = quantile(0.5, this.#bounds, grown)
    this.#ring(group, group === 'all' ? 'p95' : name)[index] = quantile(0.95, this.#bounds, grown)
  }

  #ring(group: string, name: string): Float32Array {
    let rings = this.#rings.get(group)
    if (rings === undefined) this.#rings.set(group, (rings = new Map<string, Float32Array>()))
    let ring = rings.get(name)
    if (ring === undefined) rings.set(name, (ring = new Float32Array(capacity).fill(NaN)))
    return ring
  }

  #totals(values: ProcessMetric['values'], group: string): ReadonlyMap<string, readonly number[]> {
    const isDelay = this.#row.as === 'delay'
    const totals = new Map<string, number[]>(group === 'all' ? [['all', isDelay ? [] : [0]]] : [])
    for (const { value, labels, metricName } of values) {
      if (isDelay && metricName?.endsWith('_bucket') !== true) continue
      const name = group === 'all' ? 'all' : this.#limited(group, String(labels[group] ?? ''))
      const total = totals.get(name) ?? []
      totals.set(name, total)
      const bucket = isDelay ? this.#bucketOf(Number(labels['le'])) : 0
      total[bucket] = (total[bucket] ?? 0) + value
    }
    return totals
  }

  #limited(group: string, name: string): string {
    let limiter = this.#limiters.get(group)
    if (limiter === undefined) this.#limiters.set(group, (limiter = new LabelLimiter(maxNames)))
    return limiter.of(name)
  }

  /** `+Inf` is the last one. Buckets are reported in their order. */
  #bucketOf(le: number): number {
    const bound = Number.isNaN(le) ? Infinity : le
    if (!this.#bounds.includes(bound)) this.#bounds = [...this.#bounds, bound]
    return this.#bounds.indexOf(bound)
  }
}

/** By linear interpolation within its bucket; NaN without a count. `counts` are cumulative, as in Prometheus. */
const quantile = (share: number, bounds: readonly number[], counts: readonly number[]): number => {
  const count = counts.at(-1) ?? 0
  if (count === 0) return NaN
  const at = counts.findIndex((each) => each >= share * count)
  const [from, to] = [bounds[at - 1] ?? 0, bounds[at] ?? 0]
  const below = counts[at - 1] ?? 0
  return to === Infinity ? from : from + ((to - from) * (share * count - below)) / ((counts[at] ?? 0) - below)
}

const jsonOf = (value = NaN): number | null => (Number.isNaN(value) ? null : Number(value.toPrecision(4)))
