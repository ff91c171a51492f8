import type { Observable, SchedulerLike } from 'rxjs'
import type { ModelDescription } from 'rxspeech-engines/engine'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { OpenTelemetry } from 'rxspeech/internal/tracing/open-telemetry'
import type { SessionWatch } from '../monitor/session-watch.js'
import type { ProjectRegistry } from '../project/project.js'
import type { PaceLimits } from './audio-intake.js'
import type { FaultOptions } from './client-error.js'
import type { RequestBucket, RequestLimits } from './request-limit.js'
import type { Rights } from './rights.js'

/** The limits of a session (PROTOCOL 8). */
export interface SessionLimits extends PaceLimits, RequestLimits {
  /** From the opening of the stream until its Start, in milliseconds. @default 10000 */
  readonly startWithinMs: number
  /** How long a token, a project and a model may take to be ready, in milliseconds. @default 30000 */
  readonly openWithinMs: number
  /** How long the last results may take after the end of the audio, in milliseconds. @default 60000 */
  readonly flushWithinMs: number
  /** The longest session, in milliseconds; it is finalized then. @default 14400000 */
  readonly maxSessionMs: number
  /**
   * Milliseconds without audio after which a session is finalized, and a socket without a recognition closed; 0 is
   * never. @default 30000
   */
  readonly idleMs: number
  /**
   * Received audio that is not consumed yet, in milliseconds; above the limit the service does not read from the
   * client. @default 10000
   */
  readonly maxPendingAudioMs: number
}

export const defaultSessionLimits: SessionLimits = {
  startWithinMs: 10_000,
  openWithinMs: 30_000,
  flushWithinMs: 60_000,
  maxSessionMs: 4 * 3_600_000,
  idleMs: 30_000,
  maxPendingAudioMs: 10_000,
  maxPacePercent: 125,
  paceBurstMs: 5_000,
  maxRequestsPerSecond: 20,
  requestBurst: 100,
}

/** The grants of a token, their end, and the function that releases the session's slot. */
export interface Admission {
  readonly rights: Rights
  /** Emits why the session must end now: the token was revoked or has expired, or its subscription has ended. */
  readonly ended$: Observable<SpeechError>
  readonly release: () => void
  /** The client that the token was issued to. */
  readonly clientId?: string
  readonly tokenId?: string
  /** Whether the token is one for a page (PROTOCOL 2.1). @default false */
  readonly isForPage?: boolean | undefined
  /** Whether the tenant leaves a reserve of each limit to others; see `Slot`. @default false */
  readonly isAboveShare?: boolean | undefined
  /** The requests of all sessions of the token. @default those of this session */
  readonly requests?: RequestBucket | undefined
}

/** How a service closes (PROTOCOL 5.11). */
export interface Drain {
  /** How long a channel with speech may wait for a pause before it is flushed, in milliseconds. */
  readonly pauseWithinMs: number
}

/** The context of all sessions of a service. */
export interface SessionContext extends FaultOptions {
  /**
   * Verifies a token. `tenant` is set if the session names one, `origin` if a page of a browser opened it. Rejects with
   * `unauthenticated`, `tenant-denied`, or `overloaded` when no further session may begin.
   */
  readonly admit: (token: string, tenant?: string, origin?: string) => Promise<Admission>
  readonly models: ModelRegistry
  /**
   * Throws `overloaded` when the model has too much to do for another session, of a tenant that may be above its share.
   * @default every model is accepted
   */
  readonly checkModel?: ((model: ModelDescription, isAboveShare?: boolean) => void) | undefined
  /** The shortest time between two partials of a channel, in milliseconds; 0 unless the service is overloaded. */
  readonly partialIntervalMs?: (() => number) | undefined
  readonly limits: SessionLimits
  /** Emits when the service is about to close, also to later subscribers: sessions are finalized, none begins. */
  readonly drain$: Observable<Drain>
  readonly scheduler: SchedulerLike
  /** Records what sessions do as spans. @default nothing is traced */
  readonly openTelemetry?: OpenTelemetry | undefined
  /** Receives the events of this session. */
  readonly watch?: SessionWatch | undefined
}

/** The context of the session of an admission. */
export const contextOf = <Context extends SessionContext>(
  context: Context,
  { isAboveShare }: Pick<Admission, 'isAboveShare'>,
): Context => ({ ...context, checkModel: (model) => context.checkModel?.(model, isAboveShare) })

/** The context of a session that is watched, whose faults have its id. */
export const watchedContext = <Context extends SessionContext>(context: Context, watch: SessionWatch): Context => ({
  ...context,
  watch,
  onFault: (error, origin) => context.onFault?.(error, { sessionId: watch.facts.sessionId, ...origin }),
})

/** The id that a client presents when it resumes; undefined unless versions of models have parts of the sessions. */
export const givenId = ({ models, watch }: SessionContext): string | undefined =>
  models.release === undefined ? undefined : watch?.key

/** The context of a dataflow stream. */
export interface DataflowContext extends SessionContext {
  readonly projects: ProjectRegistry
  /** The folder of recordings; without it nodes cannot record. */
  readonly recordingsFolder?: string | undefined
}

/** The context of a recognition socket. */
export interface RecognizerContext extends SessionContext {
  /** The grants of the connection's token. */
  readonly rights: Rights
  /** As of its admission. */
  readonly ended$: Observable<SpeechError>
  readonly requests?: RequestBucket | undefined
  /** `ModelName` of the address, if any. */
  readonly modelOfAddress?: string | undefined
  /** Whether events report where speech begins and ends, which the socket does not have. @default false */
  readonly reportsSpeech?: boolean | undefined
  /** A language that clients name by default: one for a model that takes none changes nothing. @default none */
  readonly optionalLanguage?: string | undefined
}
