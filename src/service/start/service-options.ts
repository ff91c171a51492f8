import type { SchedulerLike } from 'rxjs'
import { maxTimerMs } from '../../kernel/timers.js'
import { listOf } from '../../protocol/collections.js'
import {
  anything,
  checkOptions,
  flag,
  functionValue,
  jsonObject,
  objectWith,
  oneOf,
  optionsCodec,
  optionsOf,
  schedulerValue,
  text,
  wholeNumber,
} from '../../protocol/validation.js'
import type { LoadLimits } from '../operations/service-load.js'
import type { AdmissionLimits } from '../sessions/admissions.js'
import { identityGroup, type IdentityOptions } from '../identity/identity.js'
import { defaultSessionLimits, type SessionLimits } from '../sessions/session-context.js'
import type { CustomNodeSource } from '../custom-nodes/custom-node-source.js'
import type { EngineKind } from '../engines/engine.js'
import { idleMinutes } from '../engines/models/model-registry.js'
import { natsEnginesOptions, type NatsEnginesOptions } from '../engines/nats/fleet-options.js'
import { defaultMaxLagMs } from '../engines/lag.js'
import type { ClientStore } from '../identity/clients/client.js'
import type { ServiceMonitor } from '../monitor/service-monitor.js'
import type { Logger } from '../operations/logger.js'
import type { ConnectionLimits } from '../listen/connection-gate.js'
import { studioOptions, type StudioOptions } from '../studio/studio.js'
import { workerCount } from '../threads/worker-count.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import type { ProxyProtocol } from '../listen/accepted-connections.js'
import {
  listenAddressCodec,
  serverCertificateCodec,
  type ListenAddress,
  type ServerCertificate,
} from '../../transport/listen-address.js'

/** Options of `startService`. */
export interface ServiceOptions {
  /** The address of the token endpoint and the recognition socket. @default 127.0.0.1, any free port */
  readonly http?: ListenAddress | undefined
  /**
   * A second address of the same, without TLS, on loopback only: a page can use it without trusting the certificate.
   * @default none
   */
  readonly plainHttp?: ListenAddress | undefined
  /** The address of the dataflow stream. @default 127.0.0.1, any free port */
  readonly grpc?: ListenAddress | undefined
  /** The TLS certificate. Without it the service uses plain text, on loopback only. @default none */
  readonly certificate?: ServerCertificate | undefined
  /**
   * Clients that can request tokens, in addition to those of the store in the state folder. At least one of both is
   * necessary.
   * @default none
   */
  readonly clients?: ClientStore | undefined
  /** Folders of models, in the layout `<tenant>/<name>/<version>/model.json`. */
  readonly modelFolders: readonly string[]
  /** Engines that models can name, in addition to the built-in ones. @default none */
  readonly engines?: readonly EngineKind[] | undefined
  /**
   * Engine processes on this and other machines, over NATS: their models are served in addition to those of
   * `modelFolders`, which can then be empty.
   * @default none
   */
  readonly natsEngines?: NatsEnginesOptions | undefined
  /** Whether all models are loaded at the start, and not only the default one; others with their first session. @default false */
  readonly preload?: boolean | undefined
  /** How long no session must use a model until it leaves memory, in minutes; 0 for never. @default 0 */
  readonly idleMinutes?: number | undefined
  /** The model of sessions that name none. @default the first model of the tenant `Default` */
  readonly defaultModel?: string | undefined
  /** Folders of projects, in the layout `<tenant>/<name>/<version>.yaml`; see docs/PROJECTS.md. @default none */
  readonly projectFolders?: readonly string[] | undefined
  /** Nodes that projects can name, in addition to the built-in ones. @default none */
  readonly nodes?: readonly AnyNodeDefinition[] | undefined
  /** Files and packages with nodes that projects can name; each runs in worker threads unless it runs inline. @default none */
  readonly customNodes?: readonly CustomNodeSource[] | undefined
  /** The environment variables that projects and models can name for secrets. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** The folder of recordings; without it nodes cannot record. @default none */
  readonly recordingsFolder?: string | undefined
  /** The tenants that have the `transcribe` project. @default `Default` and those of `grantedTenants` */
  readonly tenants?: readonly string[] | undefined
  /**
   * Whether `transcribe` is also there for each tenant with models or projects, and for each tenant that a client
   * registration names. @default true without `tenants`
   */
  readonly grantedTenants?: boolean | undefined
  /** The folder of signing keys, clients and revoked tokens; see `openIdentityStore`. @default none: lost at a restart */
  readonly stateFolder?: string | undefined
  /** The issuer of tokens. @default the address of the HTTP listener */
  readonly issuer?: string | undefined
  /** Token audience, keys, NATS for several machines, limits of wrong secrets, and the address of a client. @default {} */
  readonly identity?:
    | Pick<IdentityOptions, 'audience' | 'keysFile' | 'nats' | 'rotateKeysAfterMs' | 'bruteForce' | 'addressOf'>
    | undefined
  /** More generous limits, for a service with a single developer. @default false */
  readonly development?: boolean | undefined
  /** Limits of sessions and connections. @default those of PROTOCOL 8 */
  readonly limits?: Partial<SessionLimits & AdmissionLimits & ConnectionLimits & LoadLimits> | undefined
  /** The longest message of a client, in bytes. @default 1 MiB */
  readonly maxMessageBytes?: number | undefined
  /** Whether the address of the recognition socket can contain a token, which proxies write to their logs. @default false */
  readonly allowQueryToken?: boolean | undefined
  /**
   * Balancers and proxies that are trusted to report the address of a client: networks such as `10.0.0.0/8`, or
   * addresses. Their connections can begin with a PROXY protocol header (version 2), their HTTP requests can have
   * `X-Forwarded-For`.
   * @default none
   */
  readonly trustedProxies?: readonly string[] | undefined
  /**
   * `required` refuses connections of trusted proxies without a PROXY header; `detected` accepts them.
   * @default 'detected'
   */
  readonly proxyProtocol?: ProxyProtocol | undefined
  /**
   * How many processes serve sessions, 1 to 256, or `'auto'` for one per CPU. They share the ports, and the limits, the
   * identity service, the metrics and the log of the service. With more than one the options `engines`, `nodes`,
   * `monitor`, `scheduler` and `identity.addressOf` cannot be set, because functions cannot be passed to a process.
   * @default 1: this process
   */
  readonly workers?: number | 'auto' | undefined
  /** The clock and the timers. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
  /**
   * The address of `/livez`, `/readyz` and `/metrics`: plain text on loopback, elsewhere with the certificate of the
   * service. With it the service is not ready until its first engine is loaded. @default none
   */
  readonly operations?: ListenAddress | undefined
  /** Serves a page that shows sessions, at `/` of the HTTP addresses; it needs no further rights. @default none */
  readonly studio?: StudioOptions | undefined
  /** Server reflection on the gRPC interface. @default true in development, otherwise false */
  readonly reflection?: boolean | undefined
  /** The log of sessions, failed authentication and internal errors. @default none */
  readonly logger?: Logger | undefined
  /** Hooks for your own metrics and logs. @default none */
  readonly monitor?: ServiceMonitor | undefined
  /** Called with internal errors, which clients see as `internal` or `engine-failed`. @default none */
  readonly onFault?: ((error: unknown) => void) | undefined
}

/** The lowest value of each limit. */
const minLimits: Readonly<Record<keyof (SessionLimits & AdmissionLimits & ConnectionLimits & LoadLimits), number>> = {
  maxLoadPercent: 0,
  maxLoopDelayMs: 0,
  maxEngineDelayMs: 0,
  openWithinMs: 1,
  flushWithinMs: 1,
  startWithinMs: 1,
  maxSessionMs: 1,
  idleMs: 0,
  // Engines read audio in steps of 100 ms; a session with a smaller buffer would stall.
  maxPendingAudioMs: 500,
  maxPacePercent: 0,
  paceBurstMs: 0,
  maxRequestsPerSecond: 1,
  requestBurst: 1,
  sessions: 1,
  sessionsPerTenant: 1,
  sessionsPerToken: 1,
  connections: 1,
  connectionsPerAddress: 1,
  unstarted: 1,
  unstartedPerAddress: 1,
  streamsPerConnection: 1,
  connectionAgeMs: 0,
  connectionGraceMs: 0,
}

const limitCodecs = Object.fromEntries(
  Object.entries(minLimits).map(([name, min]) => [name, wholeNumber({ min, max: maxTimerMs })]),
)

/** The codec of each optional option. */
export const serviceCodecs = {
  http: listenAddressCodec,
  plainHttp: listenAddressCodec,
  grpc: listenAddressCodec,
  certificate: serverCertificateCodec,
  clients: objectWith('find'),
  engines: listOf(anything),
  natsEngines: natsEnginesOptions,
  preload: flag,
  idleMinutes,
  defaultModel: text,
  projectFolders: listOf(text),
  nodes: listOf(anything),
  customNodes: listOf(anything),
  env: jsonObject,
  recordingsFolder: text,
  tenants: listOf(text),
  grantedTenants: flag,
  stateFolder: text,
  issuer: text,
  identity: identityGroup,
  development: flag,
  limits: optionsCodec({}, limitCodecs),
  // The gRPC package accepts four times this size, and has a limit of its own.
  maxMessageBytes: wholeNumber({ min: 1, max: 2 ** 29 - 1 }),
  allowQueryToken: flag,
  trustedProxies: listOf(text),
  proxyProtocol: oneOf('required', 'detected'),
  workers: workerCount,
  scheduler: schedulerValue,
  operations: listenAddressCodec,
  studio: studioOptions,
  reflection: flag,
  logger: objectWith('log'),
  monitor: jsonObject,
  onFault: functionValue,
}

const serviceOptions = optionsOf<ServiceOptions>()({ modelFolders: listOf(text) }, serviceCodecs)

/** Throws `invalid-options` for an option that is unknown, has the wrong type or is out of range. */
export const checkServiceOptions = (options: ServiceOptions): void => {
  checkOptions(serviceOptions, options)
}

type ModeLimits = AdmissionLimits &
  LoadLimits &
  ConnectionLimits &
  Pick<SessionLimits, 'maxPacePercent' | 'maxRequestsPerSecond' | 'requestBurst'>

/** The grace period is longer than the longest session, so that no session ends because of its connection's age. */
const connectionAge = { connectionAgeMs: 3_600_000, connectionGraceMs: 4 * 3_600_000 + 60_000 }

const productionLimits: ModeLimits = {
  sessions: 200,
  sessionsPerTenant: 200,
  sessionsPerToken: 50,
  connections: 5_000,
  connectionsPerAddress: 2_500,
  unstarted: 2_500,
  unstartedPerAddress: 250,
  streamsPerConnection: 100,
  ...connectionAge,
  maxLoadPercent: 85,
  maxLoopDelayMs: 100,
  maxEngineDelayMs: defaultMaxLagMs,
  maxPacePercent: defaultSessionLimits.maxPacePercent,
  maxRequestsPerSecond: defaultSessionLimits.maxRequestsPerSecond,
  requestBurst: defaultSessionLimits.requestBurst,
}

/** Enough for experiments on one machine, such as thousands of idle sockets. */
const developmentLimits: ModeLimits = {
  sessions: 4_000,
  sessionsPerTenant: 4_000,
  sessionsPerToken: 4_000,
  connections: 20_000,
  connectionsPerAddress: 10_000,
  unstarted: 10_000,
  unstartedPerAddress: 10_000,
  streamsPerConnection: 4_000,
  ...connectionAge,
  maxLoadPercent: 0,
  maxLoopDelayMs: 1_000,
  maxEngineDelayMs: 0,
  maxPacePercent: 0,
  maxRequestsPerSecond: 200,
  requestBurst: 1_000,
}

export interface ServiceLimits extends SessionLimits, AdmissionLimits, ConnectionLimits, LoadLimits {
  readonly maxMessageBytes: number
}

/** Fills in the default limits of options that `checkServiceOptions` accepted. */
export const resolveServiceLimits = (options: Partial<ServiceOptions>): ServiceLimits => {
  const { development = false, limits = {}, maxMessageBytes = 1_048_576 } = options
  return {
    ...defaultSessionLimits,
    ...(development ? developmentLimits : productionLimits),
    ...withoutUndefined(limits),
    maxMessageBytes,
  }
}

/** An `undefined` limit leaves the default. */
const withoutUndefined = <Limits extends object>(limits: Limits): Limits =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined)) as Limits
