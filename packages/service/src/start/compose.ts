import type { RequestListener } from 'node:http'
import type { Observable } from 'rxjs'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import type { HttpListener } from 'rxspeech-server/listen/http-listener'
import type { Operations } from 'rxspeech-server/operations/operations'
import type { SessionContext } from 'rxspeech-server/sessions/session-context'
import type { OpenTelemetry } from 'rxspeech/internal/tracing/open-telemetry'
import type { ServiceOptions } from '../configuration/service-options.js'
import { chooseDefaultModel, openProjects, type ServiceProjects } from './models-and-projects.js'
import { prepareReload, type PreparedReload, type ReloadResult } from './reload.js'
import type { Opened } from './running-service.js'
import type { ServiceModels } from './service-models.js'
import { openTracing } from './tracing.js'

/** Serves the sessions of both interfaces. */
export interface SessionServer {
  /** `host:port`. */
  readonly grpcAddress: string
  /** Emits once when `drain` is called, also to later subscribers. */
  readonly draining$: Observable<undefined>
  /** Refuses new sessions until all have ended, or `drainMs` are over, and then ends the rest. */
  readonly drain: (drainMs: number) => Promise<void>
  /** Destroys all gRPC connections. */
  readonly close: () => void
}

/** What operators see of a process. */
export interface ComposedOperations
  extends Pick<Operations, 'onFault'>, Partial<Pick<Operations, 'watchModels' | 'watchNats'>> {
  readonly close: () => Promise<void> | void
}

/** The addresses of a service for HTTP. */
export interface ComposedHttp extends Pick<HttpListener, 'url' | 'addressOf'> {
  /** That of the address without TLS. */
  readonly plainUrl: string | undefined
  readonly close: () => Promise<void> | void
}

/** Who admits sessions, and answers requests that open none. */
export interface Authority {
  readonly admit: SessionContext['admit']
  readonly openRequests: (
    shown: Readonly<{ models: ModelRegistry; projects: ServiceProjects }>,
  ) => Promise<RequestListener>
  readonly close: () => Promise<void> | void
}

/** What the parts of a process are given to serve sessions. */
export interface SessionParts<Operation, Http> {
  readonly options: ServiceOptions
  readonly operation: Operation
  readonly http: Http
  readonly models: ModelRegistry
  readonly defaultModel: string | undefined
  readonly projects: ServiceProjects
  readonly admit: SessionContext['admit']
  /** Answers HTTP requests that are not upgrades. */
  readonly onRequest: RequestListener
  /** Records spans, where an SDK is registered. */
  readonly openTelemetry: OpenTelemetry | undefined
}

/** How one process differs from others: what it serves itself, and what it asks other processes to do. */
export interface ProcessRole<Operation, Http, Identity, Server> {
  readonly openOperation: () => Promise<Operation>
  readonly openModels: (operation: Operation) => Promise<ServiceModels> | ServiceModels
  /** Whether a reload loads models in this process. @default true */
  readonly loads?: boolean | undefined
  readonly openHttp: (operation: Operation) => Promise<Http>
  readonly openAuthority: (http: Http, operation: Operation) => Promise<Identity> | Identity
  readonly serve: (parts: SessionParts<Operation, Http>) => Promise<Server>
}

/** What operators see of a whole service. */
export interface ServiceOperations
  extends
    ComposedOperations,
    Pick<Operations, 'monitor' | 'watchIdentity' | 'reloaded' | 'url' | 'scrape' | 'report'> {}

/** The process of a service: it admits sessions itself and decides on reloads; the sessions run here or in workers. */
export interface ServiceRole<Operation extends ServiceOperations, Http extends ComposedHttp> extends Omit<
  ProcessRole<Operation, Http, Authority, SessionServer>,
  'openAuthority'
> {
  readonly reload: (prepare: () => Promise<PreparedReload>, isClosed: () => boolean) => Promise<ReloadResult>
}

/**
 * Opens the parts of a process, in the one order that all processes have: a service, the process of a service of
 * workers, a worker, and the check of options. What was opened is in `opened`, also if it rejects.
 */
export const compose = async <
  Operation extends ComposedOperations,
  Http extends ComposedHttp,
  Identity extends Authority,
  Server extends { readonly close: () => Promise<void> | void },
>(
  options: ServiceOptions,
  opened: Opened,
  role: ProcessRole<Operation, Http, Identity, Server>,
) => {
  const operation = await role.openOperation()
  const tracing = openTracing()
  opened.push(['The metrics', operation.close], ['The export of spans', () => tracing?.flush()])
  const found = await role.openModels(operation)
  const models = operation.watchModels?.(found.models) ?? found.models
  if (found.natsUse !== undefined) operation.watchNats?.(found.natsUse)
  opened.push(['The engines', () => models.close()])
  const defaultModel = chooseDefaultModel(models, options)
  const http = await role.openHttp(operation)
  opened.push(['The HTTP listener', http.close])
  const authority = await role.openAuthority(http, operation)
  opened.push(['The identity service', authority.close])
  const projects = await openProjects(options, models, defaultModel)
  const onRequest = await authority.openRequests({ models, projects })
  const { admit } = authority
  const openTelemetry = tracing?.openTelemetry
  const shared = { options, operation, models, defaultModel, projects }
  const server = await role.serve({ ...shared, http, admit, onRequest, openTelemetry })
  opened.push(['The gRPC listener', server.close])
  const prepare = (): Promise<PreparedReload> => prepareReload({ models, projects, options, loads: role.loads })
  return { operation, models, http, authority, projects, server, prepareReload: prepare }
}
