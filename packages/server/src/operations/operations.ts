import type { ModelDescription } from 'rxspeech-engines/engine'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { notify } from 'rxspeech/internal/kernel/notify'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Server } from '@grpc/grpc-js'
import type { SchedulerLike } from 'rxjs'
import { combineMonitors, noopMonitor, type ServiceMonitor } from '../monitor/service-monitor.js'
import { Challengers, type OnChallenged } from './challengers.js'
import type { EngineMeter } from './engine-meter.js'
import { openGrpcHealth, openGrpcReflection } from './grpc-services.js'
import type { Logger } from './logger.js'
import { MetricHistory, type MetricHistoryReport } from './metric-history.js'
import { openSpeechMetrics, type ExpiringCertificate, type SpeechMetrics } from './metrics.js'
import type { NatsUse } from './nats-use.js'
import { readinessSentences, ReadinessTracker, type Readiness } from './readiness.js'
import type { OnFault } from '../sessions/client-error.js'
import { refusalOf, type Refusing } from '../sessions/refusals.js'
import type { ShareLimits } from '../sessions/tenant-shares.js'
import { modelBehind, ServiceLoad, watchLoop, type BusyLoop, type LoadLimits } from './service-load.js'
import { SlowSessions, type SlowSession } from './slow-sessions.js'
import {
  challengeLog,
  logFault,
  modelRefusingLog,
  RateLimitedLog,
  readinessLog,
  refusingLog,
  sessionLog,
} from './service-log.js'
import { openHttp, type HttpListener } from '../listen/http-listener.js'
import type { ListenerCertificate } from '../listen/renewable-certificate.js'

export interface OperationsOptions {
  /** The address of `/livez`, `/readyz`, `/metrics`, `/operations.json` and the page. @default none */
  readonly address?: ListenAddress | undefined
  /** Answers the requests of the page for operators at that address; false for a path that it has not. @default none */
  readonly page?: AnswerPage | undefined
  /** Whether metrics are collected without such an address too. @default only with an address */
  readonly hasMetrics?: boolean | undefined
  readonly certificate?: ListenerCertificate | undefined
  /** The certificate whose time to its end is a metric. @default none */
  readonly expiring?: ExpiringCertificate | undefined
  readonly reflection: boolean
  readonly logger?: Logger | undefined
  readonly monitor?: ServiceMonitor | undefined
  readonly onFault?: OnFault | undefined
  readonly scheduler: SchedulerLike
  readonly limits: LoadLimits & ShareLimits
}

/** Everything that operators see of a service: metrics, health, readiness and the log. */
export interface Operations {
  readonly monitor: ServiceMonitor
  readonly onFault: OnFault
  /** The log, with a limit for each kind of line; of the whole process. */
  readonly log: RateLimitedLog | undefined
  /** Whether the service can take another session. */
  readonly load: ServiceLoad
  /** Throws `overloaded` when the engine of the model is behind. */
  readonly checkModel: (model: ModelDescription, isAboveShare?: boolean) => void
  /** The work of all engines of this process. */
  readonly work: () => EngineMeter['work']
  /** Reports the age of the shared identity, in milliseconds, as a metric. */
  readonly watchIdentity: (ageMs: () => number) => void
  /** The base address of the operations listener. */
  readonly url: string | undefined
  /** The metrics in the text format of Prometheus, if they are collected. */
  readonly scrape: Scrape | undefined
  /** The last hour, if metrics are collected. */
  readonly report: ReadReport | undefined
  /** Returns a registry to use instead, whose engines are measured. */
  readonly watchModels: (registry: ModelRegistry) => ModelRegistry
  /** The connection to NATS; when it is down for long, a process of engines is not ready. */
  readonly watchNats: (use: () => NatsUse) => void
  /** Counts a reload. */
  readonly reloaded: (outcome: 'reloaded' | 'refused') => void
  /** Adds health, and reflection where it is enabled, to a gRPC server that does not listen yet. */
  readonly addTo: (server: Server) => void
  /** The service listens. With an operations listener it is ready once an engine is loaded, this one first. */
  readonly opened: (first: ModelDescription | undefined) => void
  readonly draining: () => void
  readonly close: () => Promise<void>
}

export type AnswerPage = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>

/** Reads the metrics of all processes. */
export type Scrape = () => Promise<{ readonly contentType: string; readonly body: string }>

/** What the page of operators shows: no text, no audio and no token of a session. */
export interface OperationsReport extends MetricHistoryReport {
  readonly sessions: readonly SlowSession[]
}

/** Reads the last hour of all processes. */
export type ReadReport = () => Promise<OperationsReport>

/** The limit for each kind of log line that any client can cause. */
const maxLinesPerMinute = 60

/** Rejects with `listen-failed`, `invalid-options` or `missing-dependency`. */
export const openOperations = async (options: OperationsOptions): Promise<Operations> => {
  const { address, hasMetrics = address !== undefined } = options
  const own = await openProcessOperations({
    ...options,
    hasMetrics,
    warmsUp: address !== undefined,
    onReadiness: ({ type }) => own.setServing(type === 'ready'),
  })
  const { metrics, onFault, slowSessions } = own
  const history = metrics && new MetricHistory({ collect: metrics.collect, scheduler: options.scheduler, onFault })
  const report: ReadReport | undefined =
    history && (() => Promise.resolve({ ...history.report, sessions: slowSessions() }))
  const listener =
    address &&
    metrics &&
    report &&
    (await openOperationsListener({
      ...options,
      address,
      onFault,
      readiness: own.readiness,
      scrape: metrics.scrape,
      report,
    }))
  return {
    ...own,
    url: listener?.url,
    scrape: metrics?.scrape,
    report,
    close: async () => {
      history?.close()
      own.close()
      await listener?.close()
    },
  }
}

export interface ProcessOperationsOptions extends Omit<OperationsOptions, 'address' | 'certificate' | 'hasMetrics'> {
  readonly hasMetrics: boolean
  /** Whether the process is not ready until its first engine is loaded. */
  readonly warmsUp: boolean
  readonly onReadiness: (readiness: Readiness) => void
}

/** What operators see of one process that serves sessions, without a listener. */
export interface ProcessOperations extends Omit<Operations, 'url' | 'scrape' | 'report' | 'close'> {
  readonly metrics: SpeechMetrics | undefined
  /** None without metrics. */
  readonly slowSessions: () => readonly SlowSession[]
  readonly readiness: () => Readiness
  /** Sets the state that gRPC health reports. */
  readonly setServing: (isServing: boolean) => void
  readonly close: () => void
}

/** Rejects with `missing-dependency`. */
export const openProcessOperations = async (options: ProcessOperationsOptions): Promise<ProcessOperations> => {
  const { hasMetrics, warmsUp, expiring, reflection, scheduler, limits, onReadiness } = options
  const tracker = new ReadinessTracker(scheduler, warmsUp)
  const health = await openGrpcHealth()
  const addReflection = reflection ? await openGrpcReflection() : undefined
  const isReady = (): boolean => tracker.readiness.type === 'ready'
  const { engines } = tracker
  const load = new ServiceLoad({
    limits,
    isEngineBehind: (isThinned) => engines.sample(limits.maxEngineDelayMs, isThinned),
    onRefusing: (refusing) => logRefusing(refusing),
  })
  const sessions = hasMetrics ? new SlowSessions(() => scheduler.now()) : undefined
  const running = sessions && (() => sessions.running())
  const metrics = hasMetrics ? await openSpeechMetrics({ engines, load, isReady, expiring, running }) : undefined
  const reports = openReports(options, metrics)
  const { monitor, onFault, log, logRefusing, logModelRefusing, logCanaryFailing, logReadiness } = reports
  const challengers = new Challengers({
    onChallenged: reports.onChallenged,
    isBusy: () => load.partialIntervalMs > 0,
    scheduler,
  })
  tracker.onFault = onFault
  tracker.onChange = (readiness) => {
    logReadiness(readiness)
    onReadiness(readiness)
  }
  engines.onRefusing = logModelRefusing
  engines.onCanaryFailing = logCanaryFailing
  const unwatch = watchLoop(load)
  return {
    onFault,
    log,
    metrics,
    load,
    monitor: combineMonitors([load.monitor, ...(sessions ? [{ ...noopMonitor, ...sessions.monitor }] : []), monitor]),
    slowSessions: () => sessions?.list() ?? [],
    checkModel: (model, isAboveShare) => {
      const countRefusal = engines.refuses(model, isAboveShare === true ? limits.reservePercent : 0)
      if (countRefusal !== undefined) throw refusalOf(modelBehind(), countRefusal)
    },
    work: () => engines.work,
    watchIdentity: (ageMs) => metrics?.watchIdentity(ageMs),
    readiness: () => tracker.readiness,
    setServing: (isServing) => health.setServing(isServing),
    watchModels: (registry) => challengers.watch(tracker.watchModels(registry)),
    watchNats: (use) => metrics?.watchNats(use),
    reloaded: (outcome) => metrics?.reloaded(outcome),
    addTo: (server) => {
      health.addTo(server)
      addReflection?.(server)
    },
    opened: (first) => tracker.opened(first),
    draining: () => tracker.draining(),
    close: () => {
      unwatch()
      tracker.close()
      log?.close()
      metrics?.close()
    },
  }
}

export type ReportsOptions = Pick<OperationsOptions, 'logger' | 'monitor' | 'onFault' | 'scheduler'>

export interface Reports extends Pick<Operations, 'monitor' | 'onFault' | 'log'> {
  readonly logRefusing: (refusing: Refusing<BusyLoop>) => void
  readonly logModelRefusing: (model: string, refusing: Refusing) => void
  readonly logCanaryFailing: (model: string) => void
  readonly onChallenged: OnChallenged
  readonly logReadiness: (readiness: Readiness) => void
}

/** The receivers of events and faults: metrics, the log and the hooks of the options. */
export const openReports = (
  { logger, monitor, onFault, scheduler }: ReportsOptions,
  metrics: SpeechMetrics | undefined,
): Reports => {
  const onLineDropped = metrics?.lineDropped
  const limitedLog = logger && new RateLimitedLog({ logger, scheduler, maxLinesPerMinute, onLineDropped })
  const onChallenged = limitedLog && challengeLog(limitedLog)
  const faultHandlers = [metrics?.onFault, limitedLog && logFault(limitedLog, () => scheduler.now()), onFault]
  return {
    monitor: combineMonitors(
      [metrics?.monitor, limitedLog && sessionLog(logger, limitedLog), monitor].filter((one) => one !== undefined),
    ),
    onFault: (error, origin) => {
      for (const handle of faultHandlers) notify(() => handle?.(error, origin))
    },
    log: limitedLog,
    logRefusing: (limitedLog && refusingLog(limitedLog)) ?? (() => undefined),
    logModelRefusing: (limitedLog && modelRefusingLog(limitedLog)) ?? (() => undefined),
    logCanaryFailing: (model) =>
      limitedLog?.write('Canary fails', 'error', 'A canary fails, and gets no further sessions', { model }),
    onChallenged: (...args) => {
      metrics?.challenged(...args)
      onChallenged?.(...args)
    },
    logReadiness: (limitedLog && readinessLog(limitedLog)) ?? (() => undefined),
  }
}

export interface OperationsListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ListenerCertificate | undefined
  readonly readiness: () => Readiness
  readonly scrape: Scrape
  readonly report: ReadReport
  readonly page?: AnswerPage | undefined
  readonly onFault: (error: unknown) => void
}

const send = (response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}) =>
  response
    .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...headers })
    .end(body)

/**
 * Serves `/livez`, `/readyz`, `/metrics`, `/operations.json` and the page that shows them, for operators. They show the load, and the ids, tenants
 * and models of slow sessions, so the listener belongs on loopback or on a separate network.
 */
export const openOperationsListener = async (options: OperationsListenerOptions): Promise<HttpListener> => {
  const { address, certificate, readiness, scrape, report, page, onFault } = options
  const failed = (response: ServerResponse) => (error: unknown) => {
    onFault(error)
    send(response, 500, 'the service failed; its log says why\n')
  }
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
          failed(response),
        )
        return
      case '/operations.json':
        report().then(
          (found) => send(response, 200, JSON.stringify(found), { 'Content-Type': 'application/json' }),
          failed(response),
        )
        return
      default:
        Promise.resolve(page?.(request, response)).then((isAnswered = false) => {
          if (!isAnswered) send(response, 404, page === undefined ? `${paths}\n` : `${paths}, and / for a browser\n`)
        }, failed(response))
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

const paths = 'the paths are /livez, /readyz, /metrics and /operations.json'

const sendReadiness = (response: ServerResponse, { type }: Readiness): void => {
  if (type === 'ready') send(response, 200, 'ready\n')
  else send(response, 503, `${type}: ${readinessSentences[type]}\n`)
}
