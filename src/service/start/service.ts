import type { RequestListener } from 'node:http'
import { asyncScheduler, map, ReplaySubject, take, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { maxTimerMs } from '../../kernel/timers.js'
import { checkOptions, durationMs, optionsOf } from '../../protocol/validation.js'
import { Admissions } from '../sessions/admissions.js'
import { RunningGrants } from '../sessions/running-grants.js'
import { isGranted } from '../identity/clients/client.js'
import { sharedTenant, tenantOf } from '../sessions/rights.js'
import type { DataflowContext, Drain, SessionContext } from '../sessions/session-context.js'
import type { ModelDescription } from '../engines/engine.js'
import { chooseDefaultModel, openModels, openProjects } from './models-and-projects.js'
import type { ModelRegistry } from '../engines/models/model-registry.js'
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
import { openOperations, type Operations, type OperationsOptions } from '../operations/operations.js'
import type { ProjectRegistry } from '../project/project.js'
import { loadVoiceActivity } from '../recognition/voice-activity/fvad.js'
import { checkServiceOptions, resolveServiceLimits, type ServiceOptions } from './service-options.js'
import { repairRecordings } from '../nodes/recordings/repair-recordings.js'

/** A running service. */
export interface Service {
  /** The base address of the token endpoint. */
  readonly authUrl: string
  /** The base address of the recognition socket, such as `ws://127.0.0.1:8080`. */
  readonly wsUrl: string
  /** `host:port`. */
  readonly grpcAddress: string
  /** The models, as they were found when the service started. */
  readonly models: ModelRegistry
  /** The projects, as they were found when the service started. */
  readonly projects: ProjectRegistry
  /** The model of sessions that name none; undefined if there is no model. */
  readonly defaultModel: string | undefined
  /** The base address of `/livez`, `/readyz` and `/metrics`, if `operations` is set. */
  readonly operationsUrl: string | undefined
  /** Emits once when `close` is called, also to later subscribers: from then on the service is not ready. */
  readonly draining$: Observable<undefined>
  /** Ends one token by its `jti`, and the sessions that use it. Settles when the revocation is stored. */
  revoke(tokenId: string): Promise<void>
  /**
   * Drains and ends the service (PROTOCOL 5.11): refuses new sessions with `going-away`, finalizes each running session
   * at its next pause, at the latest 2 s before `drainMs` are over, and then ends what still runs. A
   * client that does not read its last messages is disconnected 3 s later. Idempotent.
   */
  close(options?: ServiceCloseOptions): Promise<void>
}

/** How a service ends. */
export interface ServiceCloseOptions {
  /** How long the sessions may take, in milliseconds. @default 10_000 */
  readonly drainMs?: number | undefined
}

const serviceCloseOptions = optionsOf<ServiceCloseOptions>()({}, { drainMs: durationMs(0) })

/**
 * Starts the service: token endpoint, recognition socket and dataflow stream. Resolves when everything listens. Rejects with
 * `listen-failed`, `invalid-model`, `invalid-options` or `missing-dependency`, and then leaves nothing open.
 *
 * @example
 * const service = await startService({ modelFolders: ['models'], stateFolder: '.rxspeech', clients })
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  checkServiceOptions(options)
  // Every session needs it, so a missing package should fail the start.
  await loadVoiceActivity()
  const opened: (() => Promise<void> | void)[] = []
  try {
    return await openService(options, opened)
  } catch (error) {
    // The caller gets the first error, not a later one of the cleanup.
    await closeAll(opened).catch(() => undefined)
    throw error
  }
}

/** Closes in reverse order, even if one fails; rejects with the first failure at the end. */
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
  const operation = await openOperations(operationsOptions(options, scheduler))
  opened.push(operation.close)
  const { monitor, onFault } = operation
  const models = operation.watchModels(openModels({ ...options, scheduler, onFault }))
  opened.push(() => models.close(), repairUnfinishedRecordings(options, onFault))
  const defaultModel = chooseDefaultModel(models, options.defaultModel)
  const accepting = { certificate, gate: new ConnectionGate(limits), trust: proxyTrust(options) }
  const http = await openHttp(options.http ?? loopbackAnyPort, { ...accepting, onFault })
  opened.push(http.close)
  const identity = await openIdentity(options, http, operation)
  opened.push(() => identity.close())

  const drain$ = new ReplaySubject<Drain>(1)
  const projects = await openProjects(options, models, defaultModel)
  const context: DataflowContext = {
    admit: admission(identity, new Admissions(limits), watchGrants(identity, options)),
    ...{ projects, models, limits, drain$, scheduler, onFault },
    recordingsFolder: options.recordingsFolder,
  }
  const sessions = new SessionSet()
  const shared = { context, sessions, maxMessageBytes, monitor }
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
    drain$.next({ pauseWithinMs: Math.min(maxPauseWaitMs, drainMs - flushReserveMs) })
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
    close: async (closeOptions = {}) => {
      const { drainMs = 10_000 } = checkOptions(serviceCloseOptions, closeOptions)
      await (closing ??= drain(drainMs).then(() => closeAll(opened)))
    },
  }
}

/** Starts to repair the recordings of a killed process; returns a function that waits for it. */
const repairUnfinishedRecordings = (
  { recordingsFolder: folder }: ServiceOptions,
  onFault: (error: unknown) => void,
): (() => Promise<void>) => {
  const repairing = folder === undefined ? Promise.resolve(0) : repairRecordings(folder)
  const repaired = repairing.then(() => undefined, onFault)
  return () => repaired
}

/** Refuses new sessions until all have ended, or `drainMs` are over, and then ends the rest. */
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

/** The model whose engine is loaded at the start. */
const firstModel = (models: ModelRegistry, defaultModel: string | undefined): ModelDescription | undefined => {
  const chosen =
    defaultModel === undefined ? undefined : models.find({ tenant: sharedTenant, name: defaultModel, version: '' })
  return chosen ?? models.list()[0]
}

const openIdentity = (
  options: ServiceOptions,
  { url, addressOf }: Pick<HttpListener, 'url' | 'addressOf'>,
  { monitor, onFault }: Pick<Operations, 'monitor' | 'onFault'>,
): Promise<Identity> => {
  const { clients, development = false, scheduler = asyncScheduler, stateFolder, issuer = url } = options
  return createIdentity({
    ...options.identity,
    addressOf: options.identity?.addressOf ?? addressOf,
    issuer,
    development,
    scheduler,
    onRefusal: (error, address) => {
      monitor.authFailed(authFailureOf(error), 'token-endpoint', address)
    },
    clients,
    stateFolder,
    onFault,
  })
}

const proxyTrust = ({ trustedProxies = [], proxyProtocol }: ServiceOptions): ProxyTrust | undefined =>
  trustedProxies.length === 0
    ? undefined
    : { proxies: new TrustedProxies(trustedProxies), isHeaderRequired: proxyProtocol === 'required' }

const watchGrants = (authority: Identity, { scheduler = asyncScheduler, onFault }: ServiceOptions): RunningGrants =>
  new RunningGrants({ authority, scheduler, onFault })

const admission =
  (identity: Identity, admissions: Admissions, running: RunningGrants): SessionContext['admit'] =>
  async (token, tenant) => {
    admissions.checkCapacity()
    const rights = await identity.verify(token)
    // Checked first, so that no session uses the slots of a tenant without its grant.
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

/** A little longer than a link waits for the close of its client. */
const lastMessagesMs = 3_000

/** The part of a drain that is reserved for last results, for speech without a pause. */
const flushReserveMs = 2_000

/** The longest wait for a pause; after it, other clients would give up waiting. */
const maxPauseWaitMs = 8_000

/** Resolves when the work is done or the time is over. */
const within = async (work: Promise<unknown>, durationMs: number, scheduler: SchedulerLike): Promise<void> => {
  await new Promise<void>((resolve) => {
    const timer = scheduler.schedule(resolve, Math.min(durationMs, maxTimerMs))
    void work.finally(() => {
      timer.unsubscribe()
      resolve()
    })
  })
}

const operationsOptions = (options: ServiceOptions, scheduler: SchedulerLike): OperationsOptions => {
  const { operations: address, certificate, reflection, development = false, logger, monitor, onFault } = options
  return {
    address,
    scheduler,
    reflection: reflection ?? development,
    // Beyond loopback only with TLS, using the certificate of the service.
    certificate: address === undefined || isLoopback(address.host) ? undefined : certificate,
    logger,
    monitor,
    onFault,
  }
}
