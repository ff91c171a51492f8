import type { ErrorCode } from '../../errors/error-code.js'

/** The two interfaces that sessions come by; a session of the WebSocket is its connection, whatever it recognizes. */
export type SessionInterface = 'grpc' | 'websocket'

/**
 * Where a session is: `opened` until its first start, `running` while audio is taken, `flushing` until its last results are
 * told, `idle` on a WebSocket between recognitions.
 */
export const sessionPhases = ['opened', 'running', 'flushing', 'idle'] as const
export type SessionPhase = (typeof sessionPhases)[number]

/**
 * How a session ended: in good order, stopped by its client, left by its client without a word, refused before it ran,
 * failed while it ran, or cut off by the service when its time to drain was over.
 */
export const sessionOutcomes = ['completed', 'stopped', 'gone', 'refused', 'failed', 'cut'] as const
export type SessionOutcome = (typeof sessionOutcomes)[number]

/** What is known of a session by now; what was said by its client is only here once it was granted. */
export interface SessionFacts {
  readonly sessionId: string
  readonly interface: SessionInterface
  /** The peer's address, without its port. */
  readonly peer: string
  readonly clientId?: string
  readonly tenant?: string
  readonly project?: string
  readonly model?: string
  /** Of the recognition that runs or ran last, on a WebSocket. */
  readonly recognitionId?: string
}

export interface SessionEnd {
  readonly outcome: SessionOutcome
  readonly code?: ErrorCode
  readonly durationMs: number
  /** Audio that came in, in milliseconds of one channel. */
  readonly audioMs: number
}

/** About a second of one session's audio, or what was left of it at the end. */
export interface AudioAccount {
  readonly audioMs: number
  /** How much later the last of it came than its own clock says, counted from the first. */
  readonly lateMs: number
  /** Audio that was taken in and not consumed yet. */
  readonly queuedMs: number
}

/** Why nobody was let in. The last four are the words of the token endpoint. */
export const authFailures = [
  'missing-token',
  'invalid-token',
  'expired-token',
  'revoked-token',
  'subscription-over',
  'invalid-client',
  'unauthorized-client',
  'too-many-attempts',
  'other',
] as const
export type AuthFailure = (typeof authFailures)[number]

/** Beside a note of a node; nothing of what was said. */
export type NotedFields = Readonly<Record<string, string | number | boolean>>

/** What a full wire of a project lost since it last told. */
export interface WireLoss {
  /** The kind of node that the wire leads to. */
  readonly node: string
  /** The wire's `whenFull`. */
  readonly policy: string
  readonly what: 'audio-ms' | 'events'
  readonly amount: number
}

/** A node that failed, by its kind, and what became of it. */
export interface NodeFailed {
  readonly node: string
  readonly cause: 'threw' | 'hung' | 'flooded' | 'blocked'
  readonly action: 'failed' | 'restarted' | 'bypassed'
}

/**
 * Told what happens in a service, for metrics and logs. Every hook returns at once and never throws. None is called for
 * single messages of audio, and none learns what was said, a token or a secret.
 */
export interface ServiceMonitor {
  /** A session is there (`from` undefined), goes on to another phase, or is over (`to` undefined). */
  sessionMoved(session: SessionFacts, from: SessionPhase | undefined, to: SessionPhase | undefined): void
  /** Its start was granted; on a WebSocket once for each recognition. */
  sessionStarted(session: SessionFacts): void
  sessionEnded(session: SessionFacts, end: SessionEnd): void
  /** A client was told an error, whether its session lives on or not. */
  refused(by: SessionInterface, code: ErrorCode): void
  authFailed(reason: AuthFailure, at: SessionInterface | 'token-endpoint', peer: string): void
  audio(session: SessionFacts, account: AudioAccount): void
  /** From the moment that speech was found to the first partial of it. */
  firstPartial(session: SessionFacts, afterMs: number): void
  /** From the moment that the end of speech was found to its milestone. */
  milestone(session: SessionFacts, afterMs: number): void
  /** A node told the operator something. */
  noted(session: SessionFacts, node: string, message: string, fields: NotedFields): void
  /** A wire of a session's project dropped: told when that begins, when it ends, and of the rest when the session ends. */
  dropped(session: SessionFacts, loss: WireLoss): void
  nodeFailed(session: SessionFacts, failure: NodeFailed): void
}

/** Tells all of them, in order; without any, nobody. */
export const joinMonitors = (monitors: readonly ServiceMonitor[]): ServiceMonitor => {
  const [only] = monitors
  if (only !== undefined && monitors.length === 1) return only
  return {
    sessionMoved: (...told) => {
      for (const monitor of monitors) monitor.sessionMoved(...told)
    },
    sessionStarted: (...told) => {
      for (const monitor of monitors) monitor.sessionStarted(...told)
    },
    sessionEnded: (...told) => {
      for (const monitor of monitors) monitor.sessionEnded(...told)
    },
    refused: (...told) => {
      for (const monitor of monitors) monitor.refused(...told)
    },
    authFailed: (...told) => {
      for (const monitor of monitors) monitor.authFailed(...told)
    },
    audio: (...told) => {
      for (const monitor of monitors) monitor.audio(...told)
    },
    firstPartial: (...told) => {
      for (const monitor of monitors) monitor.firstPartial(...told)
    },
    milestone: (...told) => {
      for (const monitor of monitors) monitor.milestone(...told)
    },
    noted: (...told) => {
      for (const monitor of monitors) monitor.noted(...told)
    },
    dropped: (...told) => {
      for (const monitor of monitors) monitor.dropped(...told)
    },
    nodeFailed: (...told) => {
      for (const monitor of monitors) monitor.nodeFailed(...told)
    },
  }
}

/** Tells nobody. */
export const silentMonitor: ServiceMonitor = joinMonitors([])

const known: ReadonlySet<unknown> = new Set(authFailures)
const isAuthFailure = (value: unknown): value is AuthFailure => known.has(value)

/** Why: the `cause` of an `unauthenticated` error, or an `error` of the token endpoint (RFC 6749 section 5.2). */
export const authFailureOf = (failure: unknown): AuthFailure => {
  const reason =
    typeof failure === 'string'
      ? failure.replaceAll('_', '-')
      : failure !== null && typeof failure === 'object' && 'cause' in failure
        ? failure.cause
        : undefined
  return isAuthFailure(reason) ? reason : 'other'
}
