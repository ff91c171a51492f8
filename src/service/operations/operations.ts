import type { Server } from '@grpc/grpc-js'
import type { SchedulerLike } from 'rxjs'
import type { ModelDescription } from '../engines/engine.js'
import type { ModelRegistry } from '../engines/models/model-registry.js'
import type { ListenAddress, ServerCertificate } from '../listen/listen-address.js'
import { combineMonitors, type ServiceMonitor } from '../monitor/service-monitor.js'
import { openGrpcHealth, openGrpcReflection } from './grpc-services.js'
import type { Logger } from './logger.js'
import { openSpeechMetrics } from './metrics.js'
import { openOperationsListener } from './operations-listener.js'
import { ReadinessTracker } from './readiness.js'
import { logFault, RateLimitedLog, sessionLog } from './service-log.js'

export interface OperationsOptions {
  /** The address of `/livez`, `/readyz` and `/metrics`. @default none */
  readonly address?: ListenAddress | undefined
  readonly certificate?: ServerCertificate | undefined
  readonly reflection: boolean
  readonly logger?: Logger | undefined
  readonly monitor?: ServiceMonitor | undefined
  readonly onFault?: ((error: unknown) => void) | undefined
  readonly scheduler: SchedulerLike
}

/** Everything that operators see of a service: metrics, health, readiness and the log. */
export interface Operations {
  readonly monitor: ServiceMonitor
  readonly onFault: (error: unknown) => void
  /** The base address of the operations listener. */
  readonly url: string | undefined
  /** Returns a registry to use instead, whose engines are measured. */
  readonly watchModels: (registry: ModelRegistry) => ModelRegistry
  /** Adds health, and reflection where it is enabled, to a gRPC server that does not listen yet. */
  readonly addTo: (server: Server) => void
  /** The service listens. With an operations listener it is ready once an engine is loaded, this one first. */
  readonly opened: (first: ModelDescription | undefined) => void
  readonly draining: () => void
  readonly close: () => Promise<void>
}

/** The limit for each kind of log line that any client can cause. */
const maxLinesPerMinute = 60

/** Rejects with `listen-failed`, `invalid-options` or `missing-dependency`. */
export const openOperations = async (options: OperationsOptions): Promise<Operations> => {
  const { address, certificate, reflection, scheduler, logger } = options
  const now = (): number => scheduler.now()
  const tracker = new ReadinessTracker(scheduler, address !== undefined)
  const health = await openGrpcHealth()
  const addReflection = reflection ? await openGrpcReflection() : undefined
  const isReady = (): boolean => tracker.readiness.type === 'ready'
  const metrics = address && (await openSpeechMetrics({ engines: tracker.engines, isReady }))
  const onLineDropped = metrics?.lineDropped
  const limitedLog = logger && new RateLimitedLog({ logger, scheduler, maxLinesPerMinute, onLineDropped })
  const faultHandlers = withoutUndefined([metrics?.onFault, limitedLog && logFault(limitedLog, now), options.onFault])
  const onFault = (error: unknown): void => {
    for (const handle of faultHandlers) handle(error)
  }
  tracker.onFault = onFault
  tracker.onChange = ({ type }) => {
    health.setServing(type === 'ready')
  }
  const listener =
    metrics &&
    (await openOperationsListener({
      address,
      readiness: () => tracker.readiness,
      scrape: metrics.scrape,
      onFault,
      certificate,
    }))
  return {
    monitor: combineMonitors(
      withoutUndefined([metrics?.monitor, limitedLog && sessionLog(logger, limitedLog), options.monitor]),
    ),
    onFault,
    url: listener?.url,
    watchModels: (registry) => tracker.watchModels(registry),
    addTo: (server) => {
      health.addTo(server)
      addReflection?.(server)
    },
    opened: (first) => tracker.opened(first),
    draining: () => tracker.draining(),
    close: async () => {
      tracker.close()
      limitedLog?.close()
      metrics?.close()
      await listener?.close()
    },
  }
}

const withoutUndefined = <T>(items: readonly (T | undefined)[]): readonly T[] =>
  items.filter((item) => item !== undefined)
