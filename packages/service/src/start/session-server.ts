import type { IncomingMessage } from 'node:http'
import { asyncScheduler, map, ReplaySubject, take, type SchedulerLike } from 'rxjs'
import type { ModelDescription } from 'rxspeech-engines/engine'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import type { AcceptConnections } from 'rxspeech-server/listen/accept-connections'
import type { ProxyTrust } from 'rxspeech-server/listen/accepted-connections'
import type { ConnectionCounter } from 'rxspeech-server/listen/connection-gate'
import { type DataflowListener, openDataflow } from 'rxspeech-server/listen/dataflow-listener'
import { dialectHandlers } from 'rxspeech-server/listen/dialect-listener'
import { type HttpListener, type HttpListenerOptions, openHttp } from 'rxspeech-server/listen/http-listener'
import { recognizerUpgrades } from 'rxspeech-server/listen/recognizer-listener'
import { SessionSet } from 'rxspeech-server/listen/serve-link'
import { TrustedProxies } from 'rxspeech-server/listen/trusted-proxies'
import type { Operations } from 'rxspeech-server/operations/operations'
import { sharedTenant } from 'rxspeech-server/sessions/rights'
import type { DataflowContext, Drain } from 'rxspeech-server/sessions/session-context'
import { within } from 'rxspeech-engines/within'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import { resolveServiceLimits, uploadLimitsOf, type ServiceOptions } from '../configuration/service-options.js'
import { dialectsOf } from './built-ins.js'
import type { SessionParts, SessionServer } from './compose.js'

/** Where the connections of a process come from, and who counts them. */
export interface ConnectionOrigin {
  readonly gate: ConnectionCounter
  /** @default ports of this process */
  readonly acceptConnections?: Readonly<Record<'http' | 'plain' | 'grpc', AcceptConnections>> | undefined
}

/** What the sessions of a process need. */
export interface SessionServerOptions extends SessionParts<
  Pick<Operations, 'monitor' | 'onFault' | 'load' | 'checkModel' | 'addTo' | 'opened' | 'draining'>,
  HttpListener
> {
  readonly origin: ConnectionOrigin
}

export const loopbackAnyPort: ListenAddress = { host: '127.0.0.1', port: 0 }

/** The HTTP listener of a service, which may have a second address without TLS. */
export interface ServiceHttp extends HttpListener {
  readonly plainUrl: string | undefined
}

/** After the deadline of an upload, so that the dialect answers first. */
const refusalMs = 10_000

/** Listens for HTTP. Answers 503 until `openSessionServer` handles the requests. */
export const openServiceHttp = async (
  options: ServiceOptions,
  origin: ConnectionOrigin,
  { onFault }: Pick<HttpListenerOptions, 'onFault'>,
): Promise<ServiceHttp> => {
  const { acceptConnections } = origin
  const { maxUploadSeconds } = uploadLimitsOf(options)
  const timeouts = dialectsOf(options).length > 0 && { requestMs: maxUploadSeconds * 1000 + refusalMs }
  const shared = { ...accepting(options, origin), onFault, ...(timeouts && { timeouts }) }
  const http = await openHttp(options.http ?? loopbackAnyPort, {
    ...shared,
    acceptConnections: acceptConnections?.http,
  })
  if (options.plainHttp === undefined) return { ...http, plainUrl: undefined }
  const plainOptions = { ...shared, certificate: undefined, acceptConnections: acceptConnections?.plain }
  const plain = await openHttp(options.plainHttp, plainOptions).catch(async (error: unknown) => {
    await http.close()
    throw error
  })
  return { ...joinListeners(http, plain), plainUrl: plain.url }
}

/** Two listeners as one, with the address of the first. */
const joinListeners = (first: HttpListener, second: HttpListener): HttpListener => {
  const ofSecond = new WeakSet<IncomingMessage>()
  const listenerOf = (request: IncomingMessage): HttpListener => (ofSecond.has(request) ? second : first)
  return {
    url: first.url,
    handle: ({ request, upgrade }) => {
      first.handle({ request, upgrade })
      second.handle({
        request: (...exchange) => {
          ofSecond.add(exchange[0])
          request(...exchange)
        },
        upgrade: (...handshake) => {
          ofSecond.add(handshake[0])
          upgrade(...handshake)
        },
      })
    },
    addressOf: (request) => listenerOf(request).addressOf(request),
    refuseSession: (request, until) => listenerOf(request).refuseSession(request, until),
    succeeded: (request) => listenerOf(request).succeeded(request),
    stopAccepting: async () => {
      await Promise.all([first.stopAccepting(), second.stopAccepting()])
    },
    close: async () => {
      await Promise.all([first.close(), second.close()])
    },
  }
}

/** Opens the gRPC interface and the recognition socket. Rejects with `listen-failed` or `invalid-options`. */
export const openSessionServer = async (server: SessionServerOptions): Promise<SessionServer> => {
  const { options, origin, http, operation, models, projects, admit, openTelemetry } = server
  const { scheduler = asyncScheduler } = options
  const { maxMessageBytes, ...limits } = resolveServiceLimits(options)
  const { monitor, onFault, load } = operation
  const checkModel: DataflowContext['checkModel'] = (model, isAboveShare) => {
    operation.checkModel(model, isAboveShare)
    models.admit?.(model, isAboveShare)
  }
  const drain$ = new ReplaySubject<Drain>(1)
  const context: DataflowContext = {
    projects,
    models,
    checkModel,
    limits,
    drain$,
    scheduler,
    onFault,
    openTelemetry,
    // Before the token is verified, which costs more.
    admit: async (...presented) => {
      load.check()
      const admission = await admit(...presented)
      try {
        load.check(admission.isAboveShare)
      } catch (error) {
        admission.release()
        throw error
      }
      return admission
    },
    partialIntervalMs: () => load.partialIntervalMs,
    recordingsFolder: options.recordingsFolder,
  }
  const sessions = new SessionSet()
  const shared = { context, sessions, maxMessageBytes, monitor }
  const grpc = await openDataflow({
    address: options.grpc ?? loopbackAnyPort,
    ...shared,
    ...accepting(options, origin),
    acceptConnections: origin.acceptConnections?.grpc,
    limits,
    addServices: operation.addTo,
  })
  const upgrade = recognizerUpgrades({
    ...shared,
    connections: http,
    allowQueryToken: options.allowQueryToken ?? false,
  })
  const handlers = dialectHandlers(
    { ...shared, connections: http, dialects: dialectsOf(options), modelNames: modelNamesOf(server) },
    { request: server.onRequest, upgrade },
  )
  http.handle(handlers)
  operation.opened(firstModel(models, server.defaultModel))
  if (options.preload === true) void preload(models)
  return {
    grpcAddress: grpc.address,
    draining$: drain$.pipe(
      take(1),
      map(() => undefined),
    ),
    drain: (drainMs) => {
      operation.draining()
      drain$.next({ pauseWithinMs: Math.min(maxPauseWaitMs, drainMs - flushReserveMs) })
      return endSessions(sessions, http, grpc, drainMs, scheduler)
    },
    close: grpc.close,
  }
}

/** In development every name is that of the default model. */
const modelNamesOf = ({ options, defaultModel }: SessionServerOptions): Readonly<Record<string, string>> => ({
  ...(options.development === true && defaultModel !== undefined && { '*': defaultModel }),
  ...options.dialectModels,
})

const accepting = ({ certificate, trustedProxies = [], proxyProtocol }: ServiceOptions, { gate }: ConnectionOrigin) => {
  const trust: ProxyTrust | undefined =
    trustedProxies.length === 0
      ? undefined
      : { proxies: new TrustedProxies(trustedProxies), isHeaderRequired: proxyProtocol === 'required' }
  return { certificate, gate, trust }
}

/** The model whose engine is loaded at the start. */
const firstModel = (models: ModelRegistry, defaultModel: string | undefined): ModelDescription | undefined => {
  const chosen =
    defaultModel === undefined ? undefined : models.find({ tenant: sharedTenant, name: defaultModel, version: '' })
  return chosen ?? models.list()[0]
}

/** One after another, so that first sessions keep the cores. Faults are reported by the first session or a reload. */
const preload = async (models: ModelRegistry): Promise<void> => {
  for (const model of models.list()) await models.engine(model).catch(() => undefined)
}

const endSessions = async (
  sessions: SessionSet,
  http: HttpListener,
  grpc: DataflowListener,
  drainMs: number,
  scheduler: SchedulerLike,
): Promise<void> => {
  // No GOAWAY before the last stream has ended: after one, Node's own client drops the messages that still arrive.
  await within(sessions.empty(), drainMs, scheduler)
  const ended = Promise.all([http.stopAccepting(), grpc.stopAccepting()])
  sessions.endAll()
  // A session has ended when its last message was sent; that message also has to arrive.
  await within(ended, lastMessagesMs, scheduler)
}

/** A little longer than a link waits for the close of its client. */
const lastMessagesMs = 3_000

/** The part of a drain that is reserved for last results, for speech without a pause. */
const flushReserveMs = 2_000

/** The longest wait for a pause; after it, other clients would give up waiting. */
const maxPauseWaitMs = 8_000
