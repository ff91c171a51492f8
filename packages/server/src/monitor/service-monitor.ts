import type { SoundFault } from 'rxspeech/internal/audio/sound-check/sound-warning'
import type { ErrorCode } from 'rxspeech/internal/errors/error-table'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { notify } from 'rxspeech/internal/kernel/notify'

/**
 * The interface of a session. A session of the WebSocket is its connection, with any number of recognitions; `http` is
 * a request of a dialect with a recording.
 */
export type SessionInterface = 'grpc' | 'websocket' | 'http'

/**
 * The phase of a session: `opened` until its first start, `running` while it accepts audio, `flushing` until its last
 * results are sent, and on a WebSocket `idle` between recognitions.
 */
export const sessionPhases = ['opened', 'running', 'flushing', 'idle'] as const
/** A phase of a session, for metrics. */
export type SessionPhase = (typeof sessionPhases)[number]

export const sessionOutcomes = ['completed', 'stopped', 'gone', 'refused', 'failed', 'drained', 'cut'] as const
/**
 * How a session ended: normally, stopped by its client, its client disconnected (`gone`), refused before it ran, failed
 * while it ran, `drained` by a service that closes, with all results of its audio, so that its client continues
 * elsewhere, or `cut` by it, because it was not drained in time.
 */
export type SessionOutcome = (typeof sessionOutcomes)[number]

/** The facts of a session so far. Fields from the client appear once they were granted. */
export interface SessionFacts {
  /** The id of the session, as in the log. */
  readonly sessionId: string
  /** The interface through which the client came. */
  readonly interface: SessionInterface
  /** The peer's address, without its port. */
  readonly peer: string
  /** The client whose token was presented. */
  readonly clientId?: string | undefined
  /** The tenant of the project or of the model. */
  readonly tenant?: string | undefined
  /** The project, over gRPC. */
  readonly project?: string | undefined
  /** The model that the client or the project named. */
  readonly model?: string | undefined
  /** The version of it that the session got; of a project with several models, that of the first. */
  readonly modelVersion?: string | undefined
  /** On a WebSocket: the current or the last recognition. */
  readonly recognitionId?: string | undefined
  /** The trace of the session, if it is traced. */
  readonly traceId?: string | undefined
}

/** The end of a session. */
export interface SessionEnd {
  /** How it ended. */
  readonly outcome: SessionOutcome
  /** The error that the client was sent, if any. */
  readonly code?: ErrorCode | undefined
  /** From the first phase to the end, in milliseconds. */
  readonly durationMs: number
  /** Received audio of one channel, in milliseconds. */
  readonly audioMs: number
}

/** About one second of a session's audio, or its rest at the end. */
export interface AudioReport {
  /** Received audio of one channel since the last report, in milliseconds. */
  readonly audioMs: number
  /** The delay of its last sample, relative to the first audio of the session and by the duration of the audio. */
  readonly lateMs: number
  /** Audio that was received and not yet consumed. */
  readonly queuedMs: number
}

/** Why authentication failed. The last five are errors of the token endpoints. */
const authFailures = [
  'missing-token',
  'invalid-token',
  'expired-token',
  'revoked-token',
  'subscription-over',
  'wrong-origin',
  'invalid-client',
  'unauthorized-client',
  'insufficient-scope',
  'too-many-attempts',
  'other',
] as const
/** Why a client was not authenticated. */
export type AuthFailure = (typeof authFailures)[number]

/** The fields of a note; never transcripts. */
export type NotedFields = Readonly<Record<string, string | number | boolean>>

/** What a full wire of a project dropped since its last report. */
export interface WireLoss {
  /** The kind of node that the wire leads to. */
  readonly node: string
  /** The wire's `whenFull`. */
  readonly policy: string
  /** The unit of `amount`: milliseconds of audio, or events. */
  readonly what: 'audio-ms' | 'events'
  /** How much was dropped. */
  readonly amount: number
}

/** A fault of the audio itself that was reported to a client (PROTOCOL 3.3). */
export interface AudioFault {
  /** What is wrong. */
  readonly kind: SoundFault
  /** What was found instead, such as an encoding or the format of a file. */
  readonly found?: string | undefined
  /** The channel; absent if the fault is of the whole stream. */
  readonly channel?: number | undefined
}

/** The failure of a node, by the node's kind, and the consequence. */
export interface NodeFailed {
  /** The kind of the node, as projects name it. */
  readonly node: string
  /** How it failed; see `FaultKind` of `rxspeech-service/nodes`. */
  readonly cause: 'threw' | 'hung' | 'flooded' | 'blocked'
  /** What became of the session: it failed, or continued with the node reopened or without it. */
  readonly action: 'failed' | 'restarted' | 'bypassed'
}

/**
 * Hooks for metrics and logs. Implementations must return at once. An exception is reported as an uncaught one, and the
 * session continues. They are not called per audio message, and never receive transcripts, tokens or secrets.
 */
export interface ServiceMonitor {
  /** A session begins (`from` undefined), changes its phase, or ends (`to` undefined). */
  sessionMoved(session: SessionFacts, from: SessionPhase | undefined, to: SessionPhase | undefined): void
  /** A start was granted; on a WebSocket called for each recognition. */
  sessionStarted(session: SessionFacts): void
  /** A session ended, after its last phase. */
  sessionEnded(session: SessionFacts, end: SessionEnd): void
  /** An error was sent to a client, whether its session continues or not. */
  refused(by: SessionInterface, code: ErrorCode): void
  /**
   * A valid token was refused a start: `tenant` is the one that its sessions count for, or the shared one if a token for
   * all tenants names one that is not configured; `model` is the one that had no room or could not be used. `refused` is
   * called in addition.
   */
  startRefused?(of: Pick<SessionFacts, 'tenant' | 'model'>, error: SpeechError): void
  /** A token, or a request for one, was refused. `peer` is an address without its port. */
  authFailed(reason: AuthFailure, at: SessionInterface | 'token-endpoint', peer: string): void
  /** Audio arrived, about once a second. */
  audio(session: SessionFacts, report: AudioReport): void
  /** The time from the detection of speech to its first partial. */
  firstPartial(session: SessionFacts, afterMs: number): void
  /** The time from the detection of the end of speech to its milestone. */
  milestone(session: SessionFacts, afterMs: number): void
  /** A fault of its audio was reported to a client; once for each kind, channel and session. */
  audioWarning(session: SessionFacts, fault: AudioFault): void
  /** A message of a node for the operator. */
  noted(session: SessionFacts, node: string, message: string, fields: NotedFields): void
  /** A wire of a session's project dropped data: called when that begins and ends, and at the end of the session. */
  dropped(session: SessionFacts, loss: WireLoss): void
  /** A node of a session's project failed. */
  nodeFailed(session: SessionFacts, failure: NodeFailed): void
}

/** Calls all monitors, in order. An exception of one is reported and affects neither the others nor the session. */
export const combineMonitors = (monitors: readonly ServiceMonitor[]): ServiceMonitor => {
  const each = (call: (monitor: ServiceMonitor) => void): void => {
    for (const monitor of monitors) notify(() => call(monitor))
  }
  return {
    sessionMoved: (...args) => each((monitor) => monitor.sessionMoved(...args)),
    sessionStarted: (...args) => each((monitor) => monitor.sessionStarted(...args)),
    sessionEnded: (...args) => each((monitor) => monitor.sessionEnded(...args)),
    refused: (...args) => each((monitor) => monitor.refused(...args)),
    startRefused: (...args) => each((monitor) => monitor.startRefused?.(...args)),
    authFailed: (...args) => each((monitor) => monitor.authFailed(...args)),
    audio: (...args) => each((monitor) => monitor.audio(...args)),
    firstPartial: (...args) => each((monitor) => monitor.firstPartial(...args)),
    milestone: (...args) => each((monitor) => monitor.milestone(...args)),
    audioWarning: (...args) => each((monitor) => monitor.audioWarning(...args)),
    noted: (...args) => each((monitor) => monitor.noted(...args)),
    dropped: (...args) => each((monitor) => monitor.dropped(...args)),
    nodeFailed: (...args) => each((monitor) => monitor.nodeFailed(...args)),
  }
}

/** Does nothing. */
export const noopMonitor: ServiceMonitor = combineMonitors([])

const known: ReadonlySet<unknown> = new Set(authFailures)
const isAuthFailure = (value: unknown): value is AuthFailure => known.has(value)

/** The reason in the `cause` of `unauthenticated`, or in an `error` of the token endpoint (RFC 6749 section 5.2). */
export const authFailureOf = (failure: unknown): AuthFailure => {
  const reason =
    typeof failure === 'string'
      ? failure.replaceAll('_', '-')
      : failure !== null && typeof failure === 'object' && 'cause' in failure
        ? failure.cause
        : undefined
  return isAuthFailure(reason) ? reason : 'other'
}
