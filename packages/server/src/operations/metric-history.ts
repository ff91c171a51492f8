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
  readonly metric: MetricName
  /** What a sample is: the value of a gauge, the rate of a counter, or quantiles of a histogram, in seconds. */
  readonly as: 'value' | 'per second' | 'per minute' | 'delay'
  /** What its series are: one of the sum, or one for each value of a label. */
  readonly by: readonly ('all' | 'model' | 'tenant' | 'code')[]
}

const chartTable = {
  running: { metric: 'rxspeech_running_sessions', as: 'value', by: ['all', 'model', 'tenant'] },
  audio: { metric: 'rxspeech_audio_seconds_total', as: 'per second', by: ['all', 'model', 'tenant'] },
  lag: { metric: 'rxspeech_milestone_seconds', as: 'delay', by: ['all', 'model'] },
  refusals: { metric: 'rxspeech_refusals_total', as: 'per minute', by: ['code'] },
} as const satisfies Readonly<Record<string, ChartRow>>

/** The last hour of a service, at most; it begins with the start of the service. */
export interface MetricHistoryReport {
  readonly everyMs: number
  /** When the samples were taken, oldest first. */
  readonly atMs: readonly number[]
  /**
   * The series of each chart by their group and name, with a number for each sample, or null where there is none. The
   * group `all` has one series of this name, and of delays `p50` and `p95`; a delay of a model is its p95.
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
  readonly #charts = Object.entries(chartTable).map(([name, row]) => ({ name, chart: new Chart(row) }))
  readonly #times = new Float64Array(capacity)
  #count = 0
  #timer: Unsubscribable | undefined
  #isClosed = false

  constructor(options: MetricHistoryOptions) {
    this.#options = options
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

class Chart {
  readonly #row: ChartRow
  readonly #rings = new Map<string, Map<string, Float32Array>>()
  readonly #limiters = new Map<string, LabelLimiter>()
  /** The last samples, oldest first. */
  #recent: readonly { readonly atMs: number; readonly totals: Totals }[] = []
  /** The upper bounds of the buckets. */
  #bounds: readonly number[] = []

  constructor(row: ChartRow) {
    this.#row = row
  }

  add(index: number, atMs: number, metrics: readonly ProcessMetric[]): void {
    const { metric, as, by } = this.#row
    const values = metrics.find(({ name }) => name === metric)?.values ?? []
    const totals = new Map(by.map((group) => [group, this.#totals(values, group)]))
    const lastMs = this.#recent.at(-1)?.atMs
    if (lastMs !== undefined && atMs - lastMs > maxPauseMs) this.#recent = []
    // A model without sessions has no value, and so 0 sessions.
    for (const rings of this.#rings.values()) for (const ring of rings.values()) ring[index] = as === 'value' ? 0 : NaN
    const before = as === 'delay' ? this.#recent[0] : this.#recent.at(-1)
    for (const [group, named] of totals) {
      for (const [name, total] of named) {
        if (as === 'value') this.#ring(group, name)[index] = total[0] ?? 0
        else if (before !== undefined) {
          const past = before.totals.get(group)?.get(name) ?? []
          const grown = total.map((count, at) => count - (past[at] ?? 0))
          // It counts from 0 again, as after the end of a worker.
          if (grown.some((count) => count < 0)) continue
          this.#addGrown(index, group, name, grown, (atMs - before.atMs) / 1000)
        }
      }
    }
    this.#recent = [...this.#recent.slice(1 - delaySamples), { atMs, totals }]
  }

  report(indexes: readonly number[]): Readonly<Record<string, Readonly<Record<string, readonly (number | null)[]>>>> {
    const seriesOf = (rings: ReadonlyMap<string, Float32Array>) =>
      Object.fromEntries([...rings].map(([name, ring]) => [name, indexes.map((index) => jsonOf(ring[index]))] as const))
    return Object.fromEntries([...this.#rings].map(([group, rings]) => [group, seriesOf(rings)] as const))
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
