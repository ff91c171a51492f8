import { EngineMeter } from 'rxspeech-server/operations/engine-meter'
import { openMergedMetrics } from 'rxspeech-server/operations/merged-metrics'
import { openSpeechMetrics } from 'rxspeech-server/operations/metrics'
import {
  openOperationsListener,
  openReports,
  type Operations,
  type OperationsOptions,
  type Scrape,
} from 'rxspeech-server/operations/operations'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { RunningWorker, WorkerSet, WorkerSetListener } from './worker-set.js'

/** What operators see of a service of workers: the metrics of all processes as those of one, and one readiness. */
export interface WorkerOperations
  extends Pick<Operations, 'monitor' | 'onFault' | 'watchIdentity' | 'reloaded' | 'url' | 'scrape'>, WorkerSetListener {
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
  const { monitor, onFault, closeLog } = openReports(options, metrics)

  const collect = async ({ process, host }: RunningWorker): Promise<void> => {
    await new Promise<void>((resolve) => {
      const late = schedule(scheduler, collectWithinMs, resolve)
      host
        .metrics()
        .then((collected) => merged?.update(process, collected))
        .catch(() => undefined)
        .finally(() => {
          late.unsubscribe()
          resolve()
        })
    })
  }
  const scrape: Scrape | undefined =
    metrics &&
    merged &&
    (async () => {
      await Promise.all(workers.open.map(collect))
      merged.update(thisProcess, await metrics.collect())
      return { contentType: metrics.contentType, body: await merged.text() }
    })
  const listener =
    address &&
    scrape &&
    (await openOperationsListener({ ...options, address, onFault, scrape, readiness: () => workers.readiness }))
  return {
    monitor,
    onFault,
    url: listener?.url,
    scrape,
    watchIdentity: (ageMs) => metrics?.watchIdentity(ageMs),
    reloaded: (outcome) => metrics?.reloaded(outcome),
    changed: () => {
      metrics?.setWorkers(workers.open.length)
      workers.setServing(isReady())
    },
    restarted: () => metrics?.workerRestarted(),
    ended: ({ process }) => merged?.ended(process),
    close: async () => {
      closeLog()
      metrics?.close()
      await listener?.close()
    },
  }
}
