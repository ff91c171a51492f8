import type { RequestListener } from 'node:http'
import { asyncScheduler, map, ReplaySubject, take, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { maxTimerMs } from '../../kernel/timers.js'
import { Admissions } from '../sessions/admissions.js'
import { RunningGrants } from '../sessions/running-grants.js'
import { isGranted, sharedTenant, tenantOf } from '../sessions/rights.js'
import type { DataflowContext, Drain, SessionContext } from '../sessions/session-context.js'
import type { ModelDescription } from '../engine/engine.js'
import { builtInEngines, chooseDefaultModel, openProjects } from './models-and-projects.js'
import { createModelRegistry, type ModelRegistry } from '../engine/model-registry.js'
import { createIdentity, type Identity } from '../identity/identity.js'
import type { ProxyTrust } from '../listen/accepted-connections.js'
import { ConnectionGate } from '../listen/connection-gate.js'
import { openDataflow, type DataflowListener } from '../listen/dataflow-listener.js'
import { openHttp, type HttpListener } from '../listen/http-listener.js'
import type { ListenAddress } from '../listen/listen-address.js'
import { recognizerUpgrades } from '../listen/recognizer-listener.js'
import { SessionSet } from '../listen/serve-link.js'
import { TrustedProxies } from '../listen/trusted-proxies.js'
import { authFailureOf } from '../monitor/service-monitor.js'
import { isLoopback } from '../../protocol/loopback.js'
import { openOperation, type Operation, type OperationOptions } from '../operations/operations.js'
import type { ProjectRegistry } from '../project/project.js'
import { loadVoiceActivity } from '../recognition/voice-activity/fvad.js'
import { resolveServiceLimits, type ServiceOptions } from './service-options.js'
import { repairRecordings } from '../nodes/recordings/repair-recordings.js'

export interface Service {
  /** Base address of the token endpoint. */
  readonly authUrl: string
  readonly wsUrl: string
  /** `host:port`. */
  readonly grpcAddress: string
  readonly models: ModelRegistry
  readonly projects: ProjectRegistry
  readonly defaultModel: string | undefined
  /** Base address of `/livez`, `/readyz` and `/metrics`, where they are wanted. */
  readonly operationsUrl: string | undefined
  /** Emits once when `close` is called, and to whoever subscribes later: from then on the service is not ready. */
  readonly draining$: Observable<undefined>
  /** Ends one token by its `jti`: no session begins with it any more. Settles when that would survive a restart. */
  revoke(tokenId: string): Promise<void>
  /**
   * Refuses new sessions by `going-away`, finalizes those that run where nobody speaks, or 2 s before the end of their
   * time, gives them `drainMs` (default 10,000), then ends
   * them and all that is open; a client that does not take its last messages is cut 3 s later. Idempotent.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/**
 * Starts the whole service: token endpoint, recognition socket and dataflow stream. Resolves when everything listens;
 * rejects with `listen-failed`, `invalid-model`, `invalid-options` or `missing-dependency`, and then nothing is left open.
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  // Every session needs it: a service without it would fail them one by one.
  await loadVoiceActivity()
  const opened: (() => Promise<void> | void)[] = []
  try {
    return await openService(options, opened)
  } catch (error) {
    // What went wrong first is what the caller has to know.
    await closeAll(opened).catch(() => undefined)
    throw error
  }
}

/** Closes the last first, each though another fails; rejects with the first failure then. */
const closeAll = async (opened: readonly (() => Promise<void> | void)[]): Promise<void> => {
  const failures: unknown[] = []
  for (const close of [...opened].reverse()) {
    await Promise.resolve()
      .then(close)
      .catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
}

const loopbackAnyPort: ListenAddress = { host: '127.0.0.1', port: 0 }

const openService = async (options: ServiceOptions, opened: (() => Promise<void> | void)[]): Promise<Service> => {
  const { certificate, scheduler = asyncScheduler } = options
  const { maxMessageBytes, ...limits } = resolveServiceLimits(options)
  const operation = await openOperation(operationOptions(options, scheduler))
  opened.push(operation.close)
  const { monitor, onFault } = operation
  const models = operation.watchModels(findModels(options, scheduler, onFault))
  opened.push(() => models.close(), mendLeftRecordings(options, onFault))
  const defaultModel = chooseDefaultModel(models, options.defaultModel)
  const accepting = { certificate, gate: new ConnectionGate(limits), trust: proxyTrust(options) }
  const http = await openHttp(options.http ?? loopbackAnyPort, { ...accepting, onFault })
  opened.push(http.close)
  const identity = await openIdentity(options, http, operation)
  opened.push(() => identity.close())

  const drain$ = new ReplaySubject<Drain>(1)
  const projects = await openProjects(options, models, defaultModel)
  const terms: DataflowContext = {
    admit: admission(identity, new Admissions(limits), watchGrants(identity, options)),
    ...{ projects, models, limits, drain$, scheduler, onFault },
    ...(options.recordingsFolder === undefined ? {} : { recordingsFolder: options.recordingsFolder }),
  }
  const sessions = new SessionSet()
  const shared = { terms, sessions, maxMessageBytes, monitor }
  const grpc = await openDataflow({
    address: options.grpc ?? loopbackAnyPort,
    ...shared,
    ...accepting,
    limits,
    addServices: operation.addTo,
  })
  opened.push(grpc.close)
  const upgrade = recognizerUpgrades({
    ...shared,
    connections: http,
    allowQueryToken: options.allowQueryToken ?? false,
  })
  http.handle({ request: answer(identity, onFault), upgrade })
  operation.opened(firstModel(models, defaultModel))

  const drain = (drainMs: number): Promise<void> => {
    operation.draining()
    drain$.next({ pauseWithinMs: Math.min(longestPauseWaitMs, drainMs - flushShareMs) })
    return endSessions(sessions, http, grpc, drainMs, scheduler)
  }
  let closing: Promise<void> | undefined
  return {
    authUrl: http.url,
    wsUrl: http.url.replace(/^http/, 'ws'),
    grpcAddress: grpc.address,
    operationsUrl: operation.url,
    models,
    projects,
    defaultModel,
    draining$: drain$.pipe(
      take(1),
      map(() => undefined),
    ),
    revoke: (tokenId) => identity.revoke(tokenId),
    close: ({ drainMs = 10_000 } = {}) => (closing ??= drain(drainMs).then(() => closeAll(opened))),
  }
}

/** Begins to mend what a process that was killed has left; gives what waits for it. */
const mendLeftRecordings = (
  { recordingsFolder: folder }: ServiceOptions,
  onFault: (error: unknown) => void,
): (() => Promise<void>) => {
  const mending = folder === undefined ? Promise.resolve(0) : repairRecordings(folder)
  const mended = mending.then(() => undefined, onFault)
  return () => mended
}

/** Whoever still comes is told, and sent elsewhere, until the last session has ended. */
const endSessions = async (
  sessions: SessionSet,
  http: HttpListener,
  grpc: DataflowListener,
  drainMs: number,
  scheduler: SchedulerLike,
): Promise<void> => {
  // No GOAWAY before the last stream has ended: Node's own client drops what is still to come when it has seen one.
  await within(sessions.empty(), drainMs, scheduler)
  const ended = Promise.all([http.stopAccepting(), grpc.stopAccepting()])
  sessions.endAll()
  // A session has ended when its last word is said; that has to arrive, too.
  await within(ended, lastWordsMs, scheduler)
}

const findModels = (
  { modelFolders, engines = [] }: ServiceOptions,
  scheduler: SchedulerLike,
  onFault: (error: unknown) => void,
): ModelRegistry =>
  createModelRegistry({
    folders: modelFolders,
    kinds: [...builtInEngines(), ...engines],
    scheduler,
    onFault,
  })

/** The model whose engine is loaded before anybody asks for it. */
const firstModel = (models: ModelRegistry, defaultModel: string | undefined): ModelDescription | undefined => {
  const chosen =
    defaultModel === undefined ? undefined : models.find({ tenant: sharedTenant, name: defaultModel, version: '' })
  return chosen ?? models.list()[0]
}

const openIdentity = (
  options: ServiceOptions,
  { url, addressOf }: Pick<HttpListener, 'url' | 'addressOf'>,
  { monitor, onFault }: Pick<Operation, 'monitor' | 'onFault'>,
): Promise<Identity> => {
  const { subscriptions, development = false, scheduler = asyncScheduler, stateFolder, issuer = url } = options
  return createIdentity({
    addressOf,
    ...options.identity,
    issuer,
    development,
    scheduler,
    onRefusal: (error, address) => {
      monitor.authFailed(authFailureOf(error), 'token-endpoint', address)
    },
    ...(subscriptions === undefined ? {} : { subscriptions }),
    ...(stateFolder === undefined ? {} : { stateFolder }),
    onFault,
  })
}

const proxyTrust = ({ trustedProxies = [], proxyProtocol }: ServiceOptions): ProxyTrust | undefined =>
  trustedProxies.length === 0
    ? undefined
    : { proxies: new TrustedProxies(trustedProxies), headerRequired: proxyProtocol === 'required' }

const watchGrants = (authority: Identity, { scheduler = asyncScheduler, onFault }: ServiceOptions): RunningGrants =>
  new RunningGrants({ authority, scheduler, ...(onFault === undefined ? {} : { onFault }) })

const admission =
  (identity: Identity, admissions: Admissions, running: RunningGrants): SessionContext['admit'] =>
  async (token, tenant) => {
    admissions.checkRoom()
    const rights = await identity.verify(token)
    // Nobody takes the places of a tenant that is not theirs.
    if (tenant !== undefined && !isGranted(rights.tenants, tenant)) throw tenantDenied()
    const giveBack = admissions.admit(rights.tokenId, tenant ?? tenantOf(rights))
    const { ended$, release } = running.add(rights)
    return {
      rights,
      clientId: rights.clientId,
      ended$,
      release: () => {
        release()
        giveBack()
      },
    }
  }

const tenantDenied = (): SpeechError =>
  new SpeechError('tenant-denied', 'The Tenant is not known here, or not granted to this subscription.')

const answer =
  (identity: Identity, onFault: (error: unknown) => void = () => undefined): RequestListener =>
  (request, response) => {
    identity.handle(request, response).then((handled) => {
      if (!handled) response.writeHead(404, { 'Content-Type': 'text/plain' }).end('Not found.\n')
    }, onFault)
  }

/** Somewhat more than a link takes to cut a client that does not answer its close. */
const lastWordsMs = 3_000

/** What a drain keeps of its time for the last results of whoever speaks on and on. */
const flushShareMs = 2_000

/** So that a channel that waits for a pause holds up no client of others for longer than such a client waits. */
const longestPauseWaitMs = 8_000

/** Resolves when the work is done, or after the time, whichever comes first. */
const within = async (work: Promise<unknown>, durationMs: number, scheduler: SchedulerLike): Promise<void> => {
  await new Promise<void>((resolve) => {
    const timer = scheduler.schedule(resolve, Math.min(durationMs, maxTimerMs))
    void work.finally(() => {
      timer.unsubscribe()
      resolve()
    })
  })
}

/** What of a service's options is for those who run it. */
export const operationOptions = (options: ServiceOptions, scheduler: SchedulerLike): OperationOptions => {
  const { operations: address, certificate, reflection, development = false, logger, monitor, onFault } = options
  return {
    scheduler,
    reflection: reflection ?? development,
    ...(address === undefined ? {} : { address }),
    // Beyond this machine only with TLS, which is the service's own then.
    ...(address === undefined || certificate === undefined || isLoopback(address.host) ? {} : { certificate }),
    ...(logger === undefined ? {} : { logger }),
    ...(monitor === undefined ? {} : { monitor }),
    ...(onFault === undefined ? {} : { onFault }),
  }
}
