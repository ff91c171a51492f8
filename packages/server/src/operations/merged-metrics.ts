import type * as Prometheus from 'prom-client'
import { listOf, recordOf } from 'rxspeech/internal/protocol/collections'
import { type Codec, eitherOf, number, oneOf, optionsCodec, text } from 'rxspeech/internal/protocol/validation'

/** One metric of one process, as prom-client writes it for another process. */
export interface ProcessMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** How values of several processes are merged, such as `sum`. */
  readonly aggregator: string
  readonly values: readonly {
    readonly value: number
    readonly labels: Readonly<Record<string, string | number>>
    /** Of a histogram: the name with `_bucket`, `_sum` or `_count`. */
    readonly metricName?: string | undefined
  }[]
}

const metric: Codec<ProcessMetric> = optionsCodec(
  {
    name: text,
    help: text,
    type: oneOf('counter', 'gauge', 'histogram', 'summary'),
    aggregator: text,
    values: listOf(optionsCodec({ value: number(), labels: recordOf(eitherOf(text, number())) }, { metricName: text })),
  },
  {},
)

export const metricsCodec: Codec<readonly ProcessMetric[]> = listOf(metric)

/** The metrics of a registry, without the values that JSON cannot contain. */
export const readProcessMetrics = async (registry: Prometheus.Registry): Promise<readonly ProcessMetric[]> =>
  // The declarations of the package name other types than it writes.
  ((await registry.getMetricsAsJSON()) as unknown as readonly ProcessMetric[]).map(
    ({ name, help, type, aggregator, values }) => ({
      name,
      help,
      type,
      aggregator,
      values: values
        .filter(({ value }) => Number.isFinite(value))
        .map(({ value, labels, metricName }) => ({ value, labels, metricName })),
    }),
  )

/**
 * The metrics of several processes as those of one service. What an ended process has counted stays, so that no sum
 * decreases: as of the last time when its metrics were read.
 */
export class MergedMetrics {
  readonly #client: typeof Prometheus
  readonly #last = new Map<number, readonly ProcessMetric[]>()
  #ended: Promise<readonly ProcessMetric[]> = Promise.resolve([])

  constructor(client: typeof Prometheus) {
    this.#client = client
  }

  /** @param process the number of a process, which is not used again */
  update(process: number, metrics: readonly ProcessMetric[]): void {
    this.#last.set(process, metrics.map(withAggregator))
  }

  ended(process: number): void {
    const last = (this.#last.get(process) ?? []).filter(({ type }) => type !== 'gauge')
    this.#last.delete(process)
    this.#ended = this.#ended.then((before) => readProcessMetrics(this.#merge([before, last])))
  }

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    return (await this.#all()).metrics()
  }

  /** All metrics as those of one process. */
  async collect(): Promise<readonly ProcessMetric[]> {
    return readProcessMetrics(await this.#all())
  }

  async #all(): Promise<Prometheus.Registry> {
    const running = [...this.#last.values()]
    return this.#merge([await this.#ended, ...running])
  }

  #merge(metrics: readonly (readonly ProcessMetric[])[]): Prometheus.Registry {
    return this.#client.AggregatorRegistry.aggregate([...metrics])
  }
}

/** Opens merged metrics. Rejects with `missing-dependency`. */
export const openMergedMetrics = async (): Promise<MergedMetrics> => new MergedMetrics(await import('prom-client'))

/** An average of delays would hide the one process that is too slow; the service has started with its first process. */
const withAggregator = (given: ProcessMetric): ProcessMetric => {
  if (given.name === 'process_start_time_seconds') return { ...given, aggregator: 'min' }
  return given.aggregator === 'average' ? { ...given, aggregator: 'max' } : given
}
