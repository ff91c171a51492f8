import type { SchedulerLike } from 'rxjs'
import { maxTimerMs } from '../../kernel/timers.js'
import { checkOption, wholeNumber } from '../../protocol/validation.js'
import type { AdmissionLimits } from '../sessions/admissions.js'
import { defaultSessionLimits, type SessionLimits } from '../sessions/session-context.js'
import type { CustomNodeSource } from '../custom-nodes/custom-node-source.js'
import type { EngineKind } from '../engine/engine.js'
import type { IdentityOptions } from '../identity/identity.js'
import type { SubscriptionStore } from '../identity/clients/client.js'
import type { ServiceMonitor } from '../monitor/service-monitor.js'
import type { Logger } from '../operations/logger.js'
import type { ConnectionLimits } from '../listen/connection-gate.js'
import type { AnyNodeDefinition } from '../nodes/core/node.js'
import type { ProxyProtocol } from '../listen/accepted-connections.js'
import type { ListenAddress, ServerCertificate } from '../listen/listen-address.js'

export interface ServiceOptions {
  /** Token endpoint and recognition socket. Default `127.0.0.1:0`. */
  readonly http?: ListenAddress
  /** Dataflow stream. Default `127.0.0.1:0`. */
  readonly grpc?: ListenAddress
  /** Without it the service speaks plain text, and listens on loopback only. */
  readonly certificate?: ServerCertificate
  /** Those who may ask for tokens, beside those of the store in the state folder. Either is needed. */
  readonly subscriptions?: SubscriptionStore
  /** Folders of models, laid out `<tenant>/<name>/<version>/model.json`. */
  readonly modelFolders: readonly string[]
  /** Engines that models may name, beside the one that comes with the package. */
  readonly engines?: readonly EngineKind[]
  /** The model of a `transcribe` session that names none; by default the first of the tenant `Default`. */
  readonly defaultModel?: string
  /** Folders of projects, laid out `<tenant>/<name>/<version>.yaml`; see docs/PROJECTS.md. */
  readonly projectFolders?: readonly string[]
  /** Nodes that projects may name, beside those that come with the package. */
  readonly nodes?: readonly AnyNodeDefinition[]
  /** Files and packages whose nodes projects may name, each kept in threads of its own unless it is run inline. */
  readonly customNodes?: readonly CustomNodeSource[]
  /** Where nodes may keep recordings; nowhere when left out. */
  readonly recordingsFolder?: string
  /** The tenants that have the `transcribe` project. Default: `Default` and those of `grantedTenants`. */
  readonly tenants?: readonly string[]
  /**
   * Whether every tenant that has models or projects has it, too, and every tenant that a subscription names, from the
   * first session with such a grant on. Default: where `tenants` is left out.
   */
  readonly grantedTenants?: boolean
  /** Where signing keys, subscriptions and revocations survive a restart; see `openIdentityStore`. */
  readonly stateFolder?: string
  /** The address that stands in tokens, where it is not that of the HTTP listener. */
  readonly issuer?: string
  /** Whom tokens are for, how often keys follow each other, how many wrong secrets are let through, whose address counts. */
  readonly identity?: Pick<IdentityOptions, 'audience' | 'rotateKeysAfterMs' | 'bruteForce' | 'addressOf'>
  /** More generous limits, for a service that only its developer uses. */
  readonly development?: boolean
  readonly limits?: Partial<SessionLimits & AdmissionLimits & ConnectionLimits>
  /** The longest message of a client, in bytes. Default 1 MiB. */
  readonly maxMessageBytes?: number
  /** Whether a token may stand in the address of the recognition socket. Default false. */
  readonly allowQueryToken?: boolean
  /**
   * Balancers and proxies whose word on a client's address counts: networks such as `10.0.0.0/8`, or single addresses. Their
   * connections may begin with a PROXY protocol header (version 2), their HTTP requests may have `X-Forwarded-For`.
   * @default none
   */
  readonly trustedProxies?: readonly string[]
  /**
   * `required` refuses connections of trusted proxies without a PROXY header; `detected` takes them, too.
   * @default 'detected'
   */
  readonly proxyProtocol?: ProxyProtocol
  readonly scheduler?: SchedulerLike
  /**
   * Where `/livez`, `/readyz` and `/metrics` are answered; nowhere when left out. Plain text on loopback; elsewhere with
   * the service's certificate. With it the service is not ready until its first engine is loaded.
   */
  readonly operations?: ListenAddress
  /** Server reflection on the gRPC interface. Default: in development only. */
  readonly reflection?: boolean
  /** Where the log goes: sessions, those who are not let in, faults. Nowhere when left out. */
  readonly logger?: Logger
  /** Told what happens to sessions; metrics and logs of one's own. */
  readonly monitor?: ServiceMonitor
  /** Told of faults inside, which clients only learn as `internal` or `engine-failed`. */
  readonly onFault?: (error: unknown) => void
}

/** The least that each limit may be. */
const leastLimits: Readonly<Record<keyof (SessionLimits & AdmissionLimits & ConnectionLimits), number>> = {
  openWithinMs: 1,
  flushWithinMs: 1,
  startWithinMs: 1,
  maxSessionMs: 1,
  idleMs: 0,
  // An engine takes audio in steps of 100 ms; a session that could hold less would stand still.
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

type LoadLimits = AdmissionLimits &
  ConnectionLimits &
  Pick<SessionLimits, 'maxPacePercent' | 'maxRequestsPerSecond' | 'requestBurst'>

/** A session that stays on its connection all the same may last as long as any. */
const connectionAge = { connectionAgeMs: 3_600_000, connectionGraceMs: 4 * 3_600_000 + 60_000 }

const productionLimits: LoadLimits = {
  sessions: 200,
  sessionsPerTenant: 200,
  sessionsPerToken: 50,
  connections: 5_000,
  connectionsPerAddress: 2_500,
  unstarted: 2_500,
  unstartedPerAddress: 250,
  streamsPerConnection: 100,
  ...connectionAge,
  maxPacePercent: defaultSessionLimits.maxPacePercent,
  maxRequestsPerSecond: defaultSessionLimits.maxRequestsPerSecond,
  requestBurst: defaultSessionLimits.requestBurst,
}

/** As much as one machine with one developer may want, such as thousands of sockets at rest. */
const developmentLimits: LoadLimits = {
  sessions: 4_000,
  sessionsPerTenant: 4_000,
  sessionsPerToken: 4_000,
  connections: 20_000,
  connectionsPerAddress: 10_000,
  unstarted: 10_000,
  unstartedPerAddress: 10_000,
  streamsPerConnection: 4_000,
  ...connectionAge,
  maxPacePercent: 0,
  maxRequestsPerSecond: 200,
  requestBurst: 1_000,
}

export interface ServiceLimits extends SessionLimits, AdmissionLimits, ConnectionLimits {
  readonly maxMessageBytes: number
}

/** The limits with their defaults; throws `invalid-options` with the name of the one that is out of range. */
export const resolveServiceLimits = (options: ServiceOptions): ServiceLimits => {
  const { development = false, limits, maxMessageBytes = 1_048_576 } = options
  const chosen = {
    ...defaultSessionLimits,
    ...(development ? developmentLimits : productionLimits),
    ...limits,
  }
  for (const name of Object.keys(leastLimits) as (keyof typeof leastLimits)[]) {
    checkOption(`limits.${name}`, wholeNumber({ min: leastLimits[name], max: maxTimerMs }), chosen[name])
  }
  // The gRPC package is let take four times as much, and has a limit of its own.
  return {
    ...chosen,
    maxMessageBytes: checkOption('maxMessageBytes', wholeNumber({ min: 1, max: 2 ** 29 - 1 }), maxMessageBytes),
  }
}
