import type { RequestListener, ServerResponse } from 'node:http'
import type { Server } from '@grpc/grpc-js'
import type { SchedulerLike } from 'rxjs'
import type { ModelDescription } from '../engines/engine.js'
import type { ModelRegistry } from '../engines/models/model-registry.js'
import type { ListenAddress, ServerCertificate } from '../listen/listen-address.js'
import { combineMonitors, type ServiceMonitor } from '../monitor/service-monitor.js'
import { openGrpcHealth, openGrpcReflection } from './grpc-services.js'
import type { Logger } from './logger.js'
import { openSpeechMetrics } from './metrics.js'
import { ReadinessTracker, type Readiness } from './readiness.js'
import { logFault, RateLimitedLog, sessionLog } from './service-log.js'
import { openHttp, type HttpListener } from '../listen/http-listener.js'

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
  const faultHandlers = [metrics?.onFault, limitedLog && logFault(limitedLog, now), options.onFault]
  const onFault = (error: unknown): void => {
    for (const handle of faultHandlers) handle?.(error)
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
      [metrics?.monitor, limitedLog && sessionLog(logger, limitedLog), options.monitor].filter(
        (monitor) => monitor !== undefined,
      ),
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

const readinessLines: Readonly<Record<Readiness['type'], string>> = {
  starting: 'starting: the service does not listen yet, or its first engine is not loaded\n',
  ready: 'ready\n',
  'without-engine': 'without-engine: no model can be loaded; the log says why\n',
  draining: 'draining: the service is closing\n',
}

interface OperationsListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate | undefined
  readonly readiness: () => Readiness
  readonly scrape: () => Promise<{ readonly contentType: string; readonly body: string }>
  readonly onFault: (error: unknown) => void
}

const send = (response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  response
    .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers })
    .end(body)

/**
 * Serves `/livez`, `/readyz` and `/metrics` for operators. They name no sessions but show the load, so the listener belongs
 * on loopback or on a separate network.
 */
const openOperationsListener = async (options: OperationsListenerOptions): Promise<HttpListener> => {
  const { address, certificate, readiness, scrape, onFault } = options
  const onRequest: RequestListener = (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(response, 405, 'only GET is allowed here\n', { Allow: 'GET, HEAD' })
      return
    }
    switch ((request.url ?? '').split('?', 1)[0]) {
      case '/livez':
        send(response, 200, 'alive\n')
        return
      case '/readyz':
        sendReadiness(response, readiness())
        return
      case '/metrics':
        scrape().then(
          ({ contentType, body }) => send(response, 200, body, { 'Content-Type': contentType }),
          (error: unknown) => {
            onFault(error)
            send(response, 500, 'the metrics could not be read\n')
          },
        )
        return
      default:
        send(response, 404, 'the paths are /livez, /readyz and /metrics\n')
    }
  }
  const http = await openHttp(address, { certificate, onFault })
  http.handle({
    request: onRequest,
    upgrade: (_request, socket) => {
      socket.destroy()
    },
  })
  return http
}

const sendReadiness = (response: ServerResponse, { type }: Readiness): void => {
  send(response, type === 'ready' ? 200 : 503, readinessLines[type])
}
