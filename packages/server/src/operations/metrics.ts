import type * as Prometheus from 'prom-client'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ServerCertificate } from 'rxspeech/internal/transport/listen-address'
import { expiryMsOf } from '../listen/renewable-certificate.js'
import { sessionOutcomes, sessionPhases, type ServiceMonitor, type SessionFacts } from '../monitor/service-monitor.js'
import type { ServiceLoad } from './service-load.js'
import type { EngineMeter } from './engine-meter.js'
import type { OnChallenged } from './challengers.js'
import { readProcessMetrics, type ProcessMetric } from './merged-metrics.js'
import { metricTable, type MetricName, type MetricRow } from './metric-table.js'
import { segmentLosses, shownDigest, type FleetUse, type ModelContent, type NatsUse } from './nats-use.js'
import { processIdentity } from './process-identity.js'
import type { RunningCount } from './slow-sessions.js'

export interface SpeechMetrics {
  readonly monitor: ServiceMonitor
  readonly onFault: (error: unknown) => void
  /** A log line was dropped. */
  readonly lineDropped: (kind: string) => void
  /** Returns the metrics in the text format of Prometheus. */
  readonly scrape: () => Promise<{ readonly contentType: string; readonly body: string }>
  readonly contentType: string
  /** Returns the metrics for `MergedMetrics` of another process. */
  readonly collect: () => Promise<readonly ProcessMetric[]>
  /** Reads the use of NATS with each scrape. */
  readonly watchNats: (use: () => NatsUse) => void
  readonly setWorkers: (count: number) => void
  /** Reports the age of the shared identity, in milliseconds, from now on. */
  readonly watchIdentity: (ageMs: () => number) => void
  /** A worker process was started again. */
  readonly workerRestarted: () => void
  readonly reloaded: (outcome: 'reloaded' | 'refused') => void
  /** A segment was drawn for a challenger. */
  readonly challenged: OnChallenged
  readonly close: () => void
}

/** A certificate that has to be renewed. */
export interface ExpiringCertificate {
  readonly listener: 'service' | 'operations'
  /** Read with each scrape; the first certificate of the chain counts. */
  readonly certificate: ServerCertificate
}

export interface SpeechMetricsOptions {
  readonly engines: EngineMeter
  readonly load: Pick<ServiceLoad, 'load' | 'loopDelayMs' | 'partialIntervalMs'>
  readonly isReady: () => boolean
  /** Whose time to its end is a metric. @default none */
  readonly expiring?: ExpiringCertificate | undefined
  /** The sessions that run. @default none */
  readonly running?: (() => readonly RunningCount[]) | undefined
}

/** The maximum number of tenants, models, versions and kinds of nodes with a separate label value. */
const maxNames = 200
/** The maximum number of contents of models at a time. */
const maxContents = 400

/** The metrics of one service, in a separate registry. Rejects with `missing-dependency`. */
export const openSpeechMetrics = async (options: SpeechMetricsOptions): Promise<SpeechMetrics> => {
  const { engines, load, isReady, expiring, running } = options
  if (expiring !== undefined) expiryMsOf(expiring.certificate)
  const client = await import('prom-client')
  const registry = new client.Registry()
  client.collectDefaultMetrics({ register: registry })
  const meters = new Meters(registry, client)
  let identityAgeMs = (): number => 0
  let natsUse: (() => NatsUse) | undefined
  const update = (): void => {
    meters.set('rxspeech_identity_age_seconds', {}, identityAgeMs() / 1000)
    meters.set('rxspeech_ready', {}, isReady() ? 1 : 0)
    meters.set('rxspeech_load', {}, load.load)
    meters.set('rxspeech_loop_delay_seconds', {}, load.loopDelayMs / 1000)
    const isThinned = load.partialIntervalMs > 0 || engines.uses().some(({ use }) => use.partialIntervalMs > 0)
    meters.set('rxspeech_partials_thinned', {}, isThinned ? 1 : 0)
    if (expiring !== undefined) {
      const { listener, certificate } = expiring
      const expiresInMs = expiryMsOf(certificate) - Date.now()
      meters.set('rxspeech_certificate_expiry_seconds', { listener }, expiresInMs / 1000)
    }
    meters.readEngines(engines)
    if (running !== undefined) meters.readRunning(running())
    if (natsUse !== undefined) meters.readNats(natsUse())
  }
  return {
    monitor: metricsMonitor(meters),
    onFault: (error) => {
      meters.count('rxspeech_faults_total', { code: isSpeechError(error) ? error.code : 'internal' })
    },
    lineDropped: (kind) => {
      meters.count('rxspeech_log_lines_left_out_total', { line: kind })
    },
    scrape: async () => {
      update()
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
    contentType: registry.contentType,
    collect: async () => {
      update()
      return readProcessMetrics(registry)
    },
    watchIdentity: (ageMs) => {
      identityAgeMs = ageMs
    },
    watchNats: (use) => {
      natsUse = use
    },
    setWorkers: (count) => {
      meters.set('rxspeech_workers', {}, count)
    },
    workerRestarted: () => {
      meters.count('rxspeech_worker_restarts_total', {})
    },
    reloaded: (outcome) => {
      meters.count('rxspeech_reloads_total', { outcome })
    },
    challenged: (...args) => meters.countChallenge(...args),
    close: () => {
      registry.clear()
    },
  }
}

type Labels = Readonly<Record<string, string>>

/** The Prometheus metrics of the table, by name. */
class Meters {
  readonly #counters = new Map<MetricName, Prometheus.Counter>()
  readonly #gauges = new Map<MetricName, Prometheus.Gauge>()
  readonly #histograms = new Map<MetricName, Prometheus.Histogram>()
  readonly #tenants = new LabelLimiter(maxNames)
  readonly #models = new LabelLimiter(maxNames)
  readonly #versions = new LabelLimiter(maxNames)
  readonly #nodes = new LabelLimiter(maxNames)
  /** Models that engine processes have served; without one their gauges are 0. */
  readonly #fleetModels = new Set<string>()
  readonly #begun = new Set<string>()
  /** Counts of a source that were added to counters, by their names and labels. */
  readonly #counted = new Map<string, number>()

  constructor(registry: Prometheus.Registry, client: typeof Prometheus) {
    for (const [name, row] of Object.entries(metricTable) as [MetricName, MetricRow][]) {
      const { help, aggregator } = row
      const shape = {
        name,
        help,
        labelNames: [...row.labels],
        registers: [registry],
        ...(aggregator && { aggregator }),
      }
      if (row.type === 'counter') this.#counters.set(name, new client.Counter(shape))
      else if (row.type === 'gauge') this.#gauges.set(name, new client.Gauge(shape))
      else this.#histograms.set(name, new client.Histogram({ ...shape, buckets: [...(row.buckets ?? [])] }))
    }
    this.set('rxspeech_build_info', { ...processIdentity(), node: process.versions.node }, 1)
    // Without a value a gauge is missing in the output instead of 0, and a counter that begins with 1 has no increase.
    for (const by of ['grpc', 'websocket']) {
      this.count('rxspeech_refusals_total', { interface: by, code: 'overloaded' }, 0)
      for (const outcome of sessionOutcomes) this.count('rxspeech_sessions_ended_total', { interface: by, outcome }, 0)
      for (const state of sessionPhases) this.set('rxspeech_sessions', { interface: by, state }, 0)
    }
  }

  count(name: MetricName, labels: Labels, by = 1): void {
    this.#counters.get(name)?.inc(labels, by)
  }

  /** A histogram has its buckets before its first value, which would be no increase of them otherwise. */
  begin(name: MetricName, labels: Labels): void {
    const key = JSON.stringify([name, labels])
    if (!this.#begun.has(key)) this.#histograms.get(name)?.zero(labels)
    this.#begun.add(key)
  }

  add(name: MetricName, labels: Labels, by: number): void {
    this.#gauges.get(name)?.inc(labels, by)
  }

  set(name: MetricName, labels: Labels, to: number): void {
    this.#gauges.get(name)?.set(labels, to)
  }

  observeMs(name: MetricName, labels: Labels, valueMs: number): void {
    this.#histograms.get(name)?.observe(labels, valueMs / 1000)
  }

  /** The label of a kind of node, built-in or custom. */
  node(kind: string): string {
    return this.#nodes.of(kind)
  }

  /** The labels of a granted session. */
  use({ interface: by, tenant, model, modelVersion }: SessionFacts) {
    const version = this.#versions.of(modelVersion)
    return { interface: by, tenant: this.#tenants.of(tenant), model: this.#models.of(model), version }
  }

  countStartRefused(tenant: string | undefined, model: string | undefined, code: string): void {
    const labels = { tenant: this.#tenants.of(tenant), model: this.#models.of(model) }
    this.count('rxspeech_tenant_refusals_total', { ...labels, code })
  }

  /** Tenants and models without a session have no value. */
  readRunning(counts: readonly RunningCount[]): void {
    this.#gauges.get('rxspeech_running_sessions')?.reset()
    for (const { tenant, model, count, ranMs } of counts) {
      const labels = { tenant: this.#tenants.of(tenant), model: this.#models.of(model) }
      this.count('rxspeech_session_seconds_total', labels, ranMs / 1000)
      if (count > 0) this.add('rxspeech_running_sessions', labels, count)
    }
  }

  readNats({ isUp, refused, places, contents = [], fleet }: NatsUse): void {
    this.#countUpTo('rxspeech_nats_refused_total', {}, refused)
    this.set('rxspeech_nats_up', {}, isUp ? 1 : 0)
    if (places !== undefined) {
      this.set('rxspeech_engine_places', { state: 'used' }, places.used)
      const free = Math.max(places.capacity - places.used, 0)
      this.set('rxspeech_engine_places', { state: 'free' }, places.isBehind ? 0 : free)
      this.set('rxspeech_engine_places', { state: 'behind' }, places.isBehind ? free : 0)
    }
    this.#readContents(contents)
    if (fleet !== undefined) this.#readFleet(fleet)
  }

  /** Contents that are not served any more have no value. */
  #readContents(contents: readonly ModelContent[]): void {
    this.#gauges.get('rxspeech_model_contents')?.reset()
    for (const { label, digest, engines } of contents.slice(0, maxContents)) {
      const labels = { model: this.#models.of(label), digest: shownDigest(digest) }
      this.add('rxspeech_model_contents', labels, engines)
    }
  }

  #readFleet({ processes, clockDifferenceMs, models, waiting, waitedMs, lost, full }: FleetUse): void {
    this.set('rxspeech_fleet_processes', {}, processes)
    this.set('rxspeech_fleet_clock_difference_seconds', {}, clockDifferenceMs / 1000)
    // By label value, of which there are few: the models that do not get one of their own are one together.
    const none = { engines: 0, used: 0, free: 0, behind: 0 }
    const uses = new Map([...this.#fleetModels].map((model) => [model, none]))
    for (const { label, engines, used, free, behind } of models) {
      const model = this.#models.of(label)
      const others = uses.get(model) ?? none
      uses.set(model, {
        engines: others.engines + engines,
        used: others.used + used,
        free: others.free + free,
        behind: others.behind + behind,
      })
    }
    for (const [model, { engines, used, free, behind }] of uses) {
      this.#fleetModels.add(model)
      this.set('rxspeech_fleet_engines', { model }, engines)
      this.set('rxspeech_fleet_places', { model, state: 'used' }, used)
      this.set('rxspeech_fleet_places', { model, state: 'free' }, free)
      this.set('rxspeech_fleet_places', { model, state: 'behind' }, behind)
    }
    this.set('rxspeech_fleet_waiting_segments', {}, waiting)
    this.#countUpTo('rxspeech_fleet_wait_seconds_total', {}, waitedMs / 1000)
    this.#countUpTo('rxspeech_fleet_full_total', {}, full)
    for (const cause of segmentLosses) this.#countUpTo('rxspeech_fleet_lost_total', { cause }, lost[cause] ?? 0)
  }

  countChallenge(...[{ model, challenger }, outcome]: Parameters<OnChallenged>): void {
    const labels = { model: this.#models.of(model), challenger: this.#models.of(challenger) }
    const compared = outcome === 'dropped' || isSpeechError(outcome) ? undefined : outcome.errors
    const ended = compared !== undefined ? 'compared' : outcome === 'dropped' ? 'dropped' : 'failed'
    for (const each of ['compared', 'dropped', 'failed']) {
      this.count('rxspeech_challenger_segments_total', { ...labels, outcome: each }, each === ended ? 1 : 0)
    }
    const { right: equal = 0, substituted = 0, inserted = 0, deleted = 0 } = compared ?? {}
    for (const [word, count] of Object.entries({ equal, substituted, inserted, deleted })) {
      this.count('rxspeech_challenger_words_total', { ...labels, word }, count)
    }
  }

  /** Raises a counter to a total that is counted elsewhere. */
  #countUpTo(name: MetricName, labels: Labels, total: number): void {
    const key = JSON.stringify([name, labels])
    this.count(name, labels, Math.max(total - (this.#counted.get(key) ?? 0), 0))
    this.#counted.set(key, total)
  }

  /** Models that are forgotten have no value. */
  readEngines(engines: EngineMeter): void {
    for (const name of engineGauges) this.#gauges.get(name)?.reset()
    for (const { label, use } of engines.uses()) {
      const model = { model: this.#models.of(label) }
      this.set('rxspeech_engine_loaded', model, use.isLoaded ? 1 : 0)
      this.set('rxspeech_engine_channels', model, use.channels)
      this.set('rxspeech_engine_segments', model, use.segments)
      this.set('rxspeech_engine_queued_seconds', model, use.queuedMs / 1000)
      this.set('rxspeech_engine_lag_seconds', model, use.lagMs / 1000)
      if (use.memoryBytes !== undefined) this.set('rxspeech_engine_memory_bytes', model, use.memoryBytes)
      const { opened, failed, faults, audioMs, busyMs, thinnedMs } = use.sinceLast()
      this.count('rxspeech_engine_loads_total', { ...model, outcome: 'opened' }, opened)
      this.count('rxspeech_engine_loads_total', { ...model, outcome: 'failed' }, failed)
      this.count('rxspeech_engine_faults_total', model, faults)
      this.count('rxspeech_engine_audio_seconds_total', model, audioMs / 1000)
      this.count('rxspeech_engine_thinned_seconds_total', model, thinnedMs / 1000)
      if (busyMs !== undefined) this.count('rxspeech_engine_busy_seconds_total', model, busyMs / 1000)
    }
  }
}

const engineGauges = [
  'rxspeech_engine_loaded',
  'rxspeech_engine_channels',
  'rxspeech_engine_segments',
  'rxspeech_engine_queued_seconds',
  'rxspeech_engine_lag_seconds',
  'rxspeech_engine_memory_bytes',
] as const

const metricsMonitor = (meters: Meters): ServiceMonitor => ({
  sessionMoved: ({ interface: by }, from, to) => {
    if (from !== undefined) meters.add('rxspeech_sessions', { interface: by, state: from }, -1)
    if (to !== undefined) meters.add('rxspeech_sessions', { interface: by, state: to }, 1)
  },
  sessionStarted: (session) => {
    const labels = meters.use(session)
    meters.count('rxspeech_sessions_started_total', labels)
    const { tenant: _, ...ofModel } = labels
    for (const name of ['rxspeech_first_partial_seconds', 'rxspeech_milestone_seconds'] as const) {
      meters.begin(name, ofModel)
    }
  },
  sessionEnded: ({ interface: by }, { outcome, durationMs }) => {
    meters.count('rxspeech_sessions_ended_total', { interface: by, outcome })
    meters.observeMs('rxspeech_session_duration_seconds', { interface: by }, durationMs)
  },
  refused: (by, code) => {
    meters.count('rxspeech_refusals_total', { interface: by, code })
  },
  startRefused: ({ tenant, model }, { code }) => {
    meters.countStartRefused(tenant, model, code)
  },
  authFailed: (reason, at) => {
    meters.count('rxspeech_auth_failures_total', { at, reason })
  },
  audio: (session, { audioMs, lateMs, queuedMs }) => {
    const { version: _, ...labels } = meters.use(session)
    meters.count('rxspeech_audio_seconds_total', labels, audioMs / 1000)
    meters.observeMs('rxspeech_chunk_lag_seconds', { interface: session.interface }, lateMs)
    meters.observeMs('rxspeech_queued_audio_seconds', { interface: session.interface }, queuedMs)
  },
  firstPartial: (session, afterMs) => {
    const { tenant: _, ...labels } = meters.use(session)
    meters.observeMs('rxspeech_first_partial_seconds', labels, afterMs)
  },
  milestone: (session, afterMs) => {
    const { tenant, ...labels } = meters.use(session)
    meters.observeMs('rxspeech_milestone_seconds', labels, afterMs)
    meters.observeMs('rxspeech_tenant_milestone_seconds', { tenant }, afterMs)
  },
  audioWarning: ({ interface: by }, { kind }) => {
    meters.count('rxspeech_audio_warnings_total', { interface: by, kind })
  },
  noted: () => undefined,
  dropped: (_session, { node, policy, what, amount }) => {
    const labels = { node: meters.node(node), policy }
    if (what === 'events') meters.count('rxspeech_dropped_events_total', labels, amount)
    else meters.count('rxspeech_dropped_audio_seconds_total', labels, amount / 1000)
  },
  nodeFailed: (_session, { node, cause, action }) => {
    meters.count('rxspeech_node_faults_total', { node: meters.node(node), cause, action })
  },
})

/** The label value of names beyond the limit. */
const otherName = 'other'

/**
 * Limits the different values of a label and replaces all further ones by `other`. Models, tenants and nodes are
 * configured, so the limit matters only for very large configurations.
 */
export class LabelLimiter {
  readonly #names = new Set<string>()
  readonly #maxNames: number

  constructor(maxNames: number) {
    this.#maxNames = maxNames
  }

  of(name: string | undefined): string {
    if (name === undefined || this.#names.has(name)) return name ?? ''
    if (this.#names.size >= this.#maxNames) return otherName
    this.#names.add(name)
    return name
  }
}
