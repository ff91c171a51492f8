import type { Observable, SchedulerLike } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import type { Rights } from './rights.js'
import type { ModelRegistry } from '../engine/model-registry.js'
import type { SessionWatch } from '../monitor/session-watch.js'
import type { ProjectRegistry } from '../project/project.js'
import type { FaultOptions } from './client-error.js'
import type { PaceLimits } from './pace-limit.js'
import type { RequestLimits } from './request-limit.js'

/** What bounds a session; decisions.md, limits. */
export interface SessionLimits extends PaceLimits, RequestLimits {
  /** From the opening of the stream until its Start, in milliseconds. */
  readonly startWithinMs: number
  /** How long a token, a project and a model may take to be ready, in milliseconds. */
  readonly openWithinMs: number
  /** How long the last results may take when there is no more audio, in milliseconds. */
  readonly flushWithinMs: number
  /** The longest session, in milliseconds; what was recognized until then is finalized. */
  readonly maxSessionMs: number
  /** Milliseconds without audio after which a session is finalized, and a socket without a recognition closed; 0 is never. */
  readonly idleMs: number
  /** Audio taken in but not consumed yet, in milliseconds; above it the client is not read from. */
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

/** What a token grants, until when, and how to give the session's place back. */
export interface Admission {
  readonly rights: Rights
  /** Emits why the session must end now: the token was revoked or has expired, or its subscription has ended. */
  readonly ended$: Observable<SpeechError>
  readonly release: () => void
  /** Whose token it is. */
  readonly clientId?: string
}

/** How a service closes. */
export interface Drain {
  /** How long a channel on which somebody speaks may wait for a pause before it is flushed, in milliseconds. */
  readonly pauseWithinMs: number
}

/** What every conversation of a service shares. */
export interface SessionContext extends FaultOptions {
  /**
   * `tenant` where the session names one. Rejects with `unauthenticated`, `tenant-denied`, or `overloaded` when no further session may begin.
   */
  readonly admit: (token: string, tenant?: string) => Promise<Admission>
  readonly models: ModelRegistry
  readonly limits: SessionLimits
  /** Emits when the service is about to close, and to whoever subscribes after that: sessions are finalized, none begins. */
  readonly drain$: Observable<Drain>
  readonly scheduler: SchedulerLike
  /** Keeps the account of this one session; each has its own. */
  readonly watch?: SessionWatch
}

/** The terms of one dataflow stream. */
export interface DataflowContext extends SessionContext {
  readonly projects: ProjectRegistry
  /** Where nodes may keep recordings; nowhere when left out. */
  readonly recordingsFolder?: string
}

/** The terms of one recognition socket. */
export interface RecognizerContext extends SessionContext {
  /** What the token of the connection grants. */
  readonly rights: Rights
  /** As of its admission. */
  readonly ended$: Observable<SpeechError>
  /** `ModelName` of the address, where there was one. */
  readonly modelOfAddress?: string
}
