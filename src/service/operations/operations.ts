import type { Server } from '@grpc/grpc-js'
import type { SchedulerLike } from 'rxjs'
import type { ModelDescription } from '../engine/engine.js'
import type { ModelRegistry } from '../engine/model-registry.js'
import type { ListenAddress, ServerCertificate } from '../listen/listen-address.js'
import { joinMonitors, type ServiceMonitor } from '../monitor/service-monitor.js'
import { openGrpcHealth, openGrpcReflection } from './grpc-services.js'
import { LimitedLog, logFault, sessionLog } from './service-log.js'
import type { Logger } from './logger.js'
import { openOperationsListener } from './operations-listener.js'
import { ServiceLife } from './readiness.js'
import { openSpeechMetrics } from './metrics.js'

export interface OperationOptions {
  /** Where `/livez`, `/readyz` and `/metrics` are; nowhere when left out. */
  readonly address?: ListenAddress
  readonly certificate?: ServerCertificate
  readonly reflection: boolean
  readonly logger?: Logger
  readonly monitor?: ServiceMonitor
  readonly onFault?: (error: unknown) => void
  readonly scheduler: SchedulerLike
}

/** All that those who run a service see of it. */
export interface Operation {
  readonly monitor: ServiceMonitor
  readonly onFault: (error: unknown) => void
  /** Base address of the operations listener. */
  readonly url: string | undefined
  /** The registry to be used in its place. */
  readonly watchModels: (registry: ModelRegistry) => ModelRegistry
  /** Health and, where wanted, reflection, on a gRPC server that does not listen yet. */
  readonly addTo: (server: Server) => void
  /** The service listens. With an operations listener it is ready when the first engine is loaded. */
  readonly opened: (first: ModelDescription | undefined) => void
  readonly draining: () => void
  readonly close: () => Promise<void>
}

/** Lines that anybody on the network can cause, of each kind. */
const linesPerMinute = 60

/** Rejects with `listen-failed`, `invalid-options` or `missing-dependency`. */
export const openOperation = async (options: OperationOptions): Promise<Operation> => {
  const { address, certificate, reflection, scheduler, logger } = options
  const now = (): number => scheduler.now()
  const life = new ServiceLife(scheduler, address !== undefined)
  const health = await openGrpcHealth()
  const reflect = reflection ? await openGrpcReflection() : undefined
  const isReady = (): boolean => life.readiness.type === 'ready'
  const metrics = address && (await openSpeechMetrics({ engines: life.engines, isReady }))
  const limited = logger && new LimitedLog({ logger, scheduler, linesPerMinute, onLeftOut: metrics?.lineLeftOut })
  const told = [metrics?.onFault, limited && logFault(limited, now), options.onFault].filter((one) => one !== undefined)
  const onFault = (error: unknown): void => {
    for (const tell of told) tell(error)
  }
  life.onFault = onFault
  life.onReadiness = ({ type }) => {
    health.setServing(type === 'ready')
  }
  const listener =
    metrics &&
    (await openOperationsListener({
      address,
      readiness: () => life.readiness,
      scrape: metrics.scrape,
      onFault,
      ...(certificate === undefined ? {} : { certificate }),
    }))
  const monitors = [metrics?.monitor, limited && sessionLog(logger, limited), options.monitor]
  return {
    monitor: joinMonitors(monitors.filter((one) => one !== undefined)),
    onFault,
    url: listener?.url,
    watchModels: (registry) => life.watchModels(registry),
    addTo: (server) => {
      health.addTo(server)
      reflect?.(server)
    },
    opened: (first) => {
      life.opened(first)
    },
    draining: () => {
      life.draining()
    },
    close: async () => {
      life.close()
      limited?.close()
      metrics?.close()
      await listener?.close()
    },
  }
}
