import { EngineMeter } from 'rxspeech-server/operations/engine-meter'
import { openMergedMetrics } from 'rxspeech-server/operations/merged-metrics'
import { MetricHistory } from 'rxspeech-server/operations/metric-history'
import { openSpeechMetrics } from 'rxspeech-server/operations/metrics'
import {
  openOperationsListener,
  openReports,
  type Operations,
  type OperationsOptions,
  type ReadReport,
  type Scrape,
} from 'rxspeech-server/operations/operations'
import { slowest } from 'rxspeech-server/operations/slow-sessions'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { RunningWorker, WorkerSet, WorkerSetListener } from './worker-set.js'

/** What operators see of a service of workers: the metrics of all processes as those of one, and one readiness. */
export interface WorkerOperations
  extends
    Pick<Operations, 'monitor' | 'onFault' | 'log' | 'watchIdentity' | 'reloaded' | 'url' | 'scrape' | 'report'>,
    WorkerSetListener {
  readonly close: () => Promise<void>
}

/** How long a worker has for its metrics; then those of the last time are used. */
const collectWithinMs = 2_000
/** The number of this process among those of `MergedMetrics`. */
const thisProcess = 0

/** Rejects with `listen-failed`, `invalid-options` or `missing-dependency`. */
export const openWorkerOperations = async (
  options: OperationsOptions,
  workers: Pick<WorkerSet, 'readiness' | 'open' | 'setServing'>,
): Promise<WorkerOperations> => {
  const { address, scheduler, hasMetrics = address !== undefined } = options
  const isReady = (): boolean => workers.readiness.type === 'ready'
  // This process has no sessions and no engines.
  const engines = new EngineMeter({ changed: () => undefined, suspected: () => undefined }, () => scheduler.now())
  const load = { load: 0, loopDelayMs: 0, partialIntervalMs: 0 }
  const metrics = hasMetrics ? await openSpeechMetrics({ engines, load, isReady }) : undefined
  const merged = hasMetrics ? await openMergedMetrics() : undefined
  const { monitor, onFault, log } = openReports(options, metrics)

  /** Undefined from a worker that does not answer in time. */
  const inTime = <A>(answer: Promise<A>): Promise<A | undefined> =>
    new Promise((resolve) => {
      const late = schedule(scheduler, collectWithinMs, () => resolve(undefined))
      answer
        .then(resolve, () => resolve(undefined))
        .finally(() => {
          late.unsubscribe()
        })
    })
  const collect = async ({ process, host }: RunningWorker): Promise<void> => {
    const collected = await inTime(host.metrics())
    if (collected !== undefined) merged?.update(process, collected)
  }
  const collectAll = async (): Promise<void> => {
    await Promise.all(workers.open.map(collect))
    if (metrics !== undefined) merged?.update(thisProcess, await metrics.collect())
  }
  const scrape: Scrape | undefined =
    metrics &&
    merged &&
    (async () => {
      await collectAll()
      return { contentType: metrics.contentType, body: await merged.text() }
    })
  const history =
    merged &&
    new MetricHistory({
      collect: async () => {
        await collectAll()
        return merged.collect()
      },
      scheduler,
      onFault,
    })
  const report: ReadReport | undefined =
    history &&
    (async () => {
      const lists = await Promise.all(workers.open.map(({ host }) => inTime(host.slowSessions())))
      return { ...history.report, sessions: slowest(lists.flatMap((list) => list ?? [])) }
    })
  const listener =
    address &&
    scrape &&
    report &&
    (await openOperationsListener({ ...options, address, onFault, scrape, report, readiness: () => workers.readiness }))
  return {
    monitor,
    onFault,
    log,
    url: listener?.url,
    scrape,
    report,
    watchIdentity: (ageMs) => metrics?.watchIdentity(ageMs),
    reloaded: (outcome) => metrics?.reloaded(outcome),
    changed: () => {
      metrics?.setWorkers(workers.open.length)
      workers.setServing(isReady())
    },
    restarted: () => metrics?.workerRestarted(),
    ended: ({ process }) => merged?.ended(process),
    close: async () => {
      history?.close()
      log?.close()
      metrics?.close()
      await listener?.close()
    },
  }
}
