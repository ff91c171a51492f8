import { asyncScheduler, ReplaySubject, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import { Admissions, type AdmissionLimits } from './access/admissions.js'
import { sharedTenant } from './access/open-model.js'
import type { DataflowTerms } from './conversation/dataflow-conversation.js'
import { defaultSessionLimits, type SessionLimits } from './conversation/session-terms.js'
import type { EngineKind } from './engine/engine.js'
import { createModelRegistry, type ModelRegistry } from './engine/model-registry.js'
import { soundswallower } from './engine/soundswallower.js'
import { createIdentity } from './identity/identity.js'
import type { SubscriptionStore } from './identity/subscription.js'
import { openDataflow, type DataflowListener } from './listen/dataflow-listener.js'
import { openHttp, type HttpListener } from './listen/http-listener.js'
import type { ListenAddress, ServerCertificate } from './listen/listen-address.js'
import { recognizerUpgrades } from './listen/recognizer-listener.js'
import { SessionSet } from './listen/session-set.js'
import { openTranscribe } from './nodes/transcribe.js'
import { projectRegistry } from './project/project.js'

export interface ServiceOptions {
  /** Token endpoint and recognition socket. Default `127.0.0.1:0`. */
  readonly http?: ListenAddress
  /** Dataflow stream. Default `127.0.0.1:0`. */
  readonly grpc?: ListenAddress
  /** Without it the service speaks plain text, and listens on loopback only. */
  readonly certificate?: ServerCertificate
  /** Who may ask for tokens. */
  readonly subscriptions: SubscriptionStore
  /** Folders of models, laid out `<tenant>/<name>/<version>/model.json`. */
  readonly modelFolders: readonly string[]
  /** Engines that models may name, beside the one that comes with the package. */
  readonly engines?: readonly EngineKind[]
  /** The model of a `transcribe` session that names none; by default the first of the tenant `Default`. */
  readonly defaultModel?: string
  /** The tenants that have the `transcribe` project. Default: `Default` and every tenant that has models. */
  readonly tenants?: readonly string[]
  /** Where signing keys and revocations survive a restart. */
  readonly stateFolder?: string
  /** The address that stands in tokens, where it is not that of the HTTP listener. */
  readonly issuer?: string
  /** More generous limits, for a service that only its developer uses. */
  readonly development?: boolean
  readonly limits?: Partial<SessionLimits & AdmissionLimits>
  /** The longest message of a client, in bytes. Default 1 MiB. */
  readonly maxMessageBytes?: number
  /** Whether a token may stand in the address of the recognition socket. Default false. */
  readonly allowQueryToken?: boolean
  readonly scheduler?: SchedulerLike
  /** Told of faults inside, which clients only learn as `internal`. */
  readonly onFault?: (error: unknown) => void
}

export interface Service {
  /** Base address of the token endpoint. */
  readonly authUrl: string
  readonly wsUrl: string
  /** `host:port`. */
  readonly grpcAddress: string
  readonly models: ModelRegistry
  readonly defaultModel: string | undefined
  /** Takes no more sessions, finalizes those that run, gives them `drainMs` (default 10,000) and ends everything. Idempotent. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

const projectName = 'transcribe'

/**
 * Starts the whole service: token endpoint, recognition socket and dataflow stream. Resolves when everything listens;
 * rejects with `listen-failed`, `invalid-model` or `invalid-options`, and then nothing is left open.
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  const opened: (() => Promise<void> | void)[] = []
  try {
    return await openService(options, opened)
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

const closeAll = async (opened: readonly (() => Promise<void> | void)[]): Promise<void> => {
  for (const close of [...opened].reverse()) await close()
}

const loopbackAnyPort: ListenAddress = { host: '127.0.0.1', port: 0 }

const openService = async (options: ServiceOptions, opened: (() => Promise<void> | void)[]): Promise<Service> => {
  const { certificate, scheduler = asyncScheduler, development = false, maxMessageBytes = 1_048_576 } = options
  const kinds = [soundswallower(), ...(options.engines ?? [])]
  const models = createModelRegistry({ folders: options.modelFolders, kinds })
  opened.push(() => models.close())
  const http = await openHttp(options.http ?? loopbackAnyPort, certificate)
  opened.push(http.close)
  const identity = await createIdentity({
    issuer: options.issuer ?? http.url,
    subscriptions: options.subscriptions,
    development,
    scheduler,
    ...(options.stateFolder === undefined ? {} : { stateFolder: options.stateFolder }),
    ...(options.onFault === undefined ? {} : { onFault: options.onFault }),
  })
  opened.push(() => identity.close())

  const limits = limitsOf(options)
  const admissions = new Admissions(limits)
  const drain$ = new ReplaySubject<undefined>(1)
  const defaultModel = options.defaultModel ?? models.list().find(({ tenant }) => tenant === sharedTenant)?.name
  checkDefaultModel(models, options.defaultModel)
  const tenants = options.tenants ?? [...new Set([sharedTenant, ...models.list().map(({ tenant }) => tenant)])]
  const terms: DataflowTerms = {
    admit: async (token) => {
      const rights = await identity.verify(token)
      return { rights, release: admissions.admit(rights.tokenId) }
    },
    projects: projectRegistry(
      tenants.map((tenant) => ({ tenant, name: projectName, defaultModel: defaultModel ?? '', open: openTranscribe })),
    ),
    models,
    limits,
    drain$,
    scheduler,
  }

  const sessions = new SessionSet()
  let draining = false
  const grpc = await openDataflow({
    address: options.grpc ?? loopbackAnyPort,
    ...(certificate === undefined ? {} : { certificate }),
    terms,
    sessions,
    maxMessageBytes,
  })
  opened.push(grpc.close)
  http.handle({
    request: (request, response) => {
      void identity.handle(request, response).then((handled) => {
        if (!handled) response.writeHead(404, { 'Content-Type': 'text/plain' }).end('Not found.\n')
      })
    },
    upgrade: recognizerUpgrades({
      terms,
      sessions,
      maxMessageBytes,
      allowQueryToken: options.allowQueryToken ?? false,
      isDraining: () => draining,
    }),
  })

  let closing: Promise<void> | undefined
  return {
    authUrl: http.url,
    wsUrl: http.url.replace(/^http/, 'ws'),
    grpcAddress: grpc.address,
    models,
    defaultModel,
    close: ({ drainMs = 10_000 } = {}) =>
      (closing ??= (async () => {
        draining = true
        drain$.next(undefined)
        stopAccepting(http, grpc)
        await within(sessions.empty(), drainMs, scheduler)
        sessions.endAll()
        await closeAll(opened)
      })()),
  }
}

const limitsOf = ({ development = false, limits }: ServiceOptions): SessionLimits & AdmissionLimits => ({
  ...defaultSessionLimits,
  ...(development ? { sessions: 2_000, sessionsPerToken: 2_000 } : { sessions: 200, sessionsPerToken: 50 }),
  ...limits,
})

const checkDefaultModel = (models: ModelRegistry, name: string | undefined): void => {
  if (name === undefined || models.find({ tenant: sharedTenant, name, version: '' }) !== undefined) return
  const known = models.list().map((model) => model.name)
  const list = known.length === 0 ? 'there are none' : `there are ${[...new Set(known)].join(', ')}`
  throw new SpeechError(
    'invalid-options',
    `There is no model ${JSON.stringify(name)} of the tenant ${sharedTenant}; ${list}.`,
  )
}

const stopAccepting = (http: HttpListener, grpc: DataflowListener): void => {
  http.stopAccepting()
  grpc.stopAccepting()
}

/** Resolves when the work is done, or after the time, whichever comes first. */
const within = async (work: Promise<void>, durationMs: number, scheduler: SchedulerLike): Promise<void> => {
  await new Promise<void>((resolve) => {
    const timer = scheduler.schedule(resolve, durationMs)
    void work.finally(() => {
      timer.unsubscribe()
      resolve()
    })
  })
}
