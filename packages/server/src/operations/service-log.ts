import { Subscription, type SchedulerLike } from 'rxjs'
import type { LogFields, Logger, LogLevel } from './logger.js'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import type { OnChallenged } from './challengers.js'
import { readinessSentences, type Readiness } from './readiness.js'
import type { BusyLoop } from './service-load.js'
import type { FaultOrigin } from '../sessions/client-error.js'
import type { Refusing } from '../sessions/refusals.js'
import type { ServiceMonitor, SessionEnd, SessionFacts } from '../monitor/service-monitor.js'

const minuteMs = 60_000

export interface RateLimitedLogOptions {
  readonly logger: Logger
  readonly scheduler: SchedulerLike
  /** The limit for each kind of line. */
  readonly maxLinesPerMinute: number
  /** Called for each dropped line. */
  readonly onLineDropped?: ((kind: string) => void) | undefined
}

/** The minute of one kind of line; it begins with the first line. */
interface Minute {
  lines: number
  dropped: number
}

/** Limits the log lines of each kind per minute, and writes the number of dropped lines at the end of the minute. */
export class RateLimitedLog {
  readonly #options: RateLimitedLogOptions
  readonly #minutes = new Map<string, Minute>()
  readonly #timers = new Subscription()

  constructor(options: RateLimitedLogOptions) {
    this.#options = options
  }

  /** `kind` must be one of a fixed set, because each kind uses memory. */
  write(kind: string, level: LogLevel, message: string, fields: LogFields): void {
    const { logger, maxLinesPerMinute, onLineDropped } = this.#options
    const minute = this.#minutes.get(kind) ?? this.#begin(kind)
    minute.lines += 1
    if (minute.lines <= maxLinesPerMinute) logger.log(level, message, fields)
    else {
      minute.dropped += 1
      onLineDropped?.(kind)
    }
  }

  /** Writes the numbers of dropped lines and ends all timers. */
  close(): void {
    this.#timers.unsubscribe()
    for (const kind of [...this.#minutes.keys()]) this.#end(kind)
  }

  #begin(kind: string): Minute {
    const minute = { lines: 0, dropped: 0 }
    this.#minutes.set(kind, minute)
    const timer = this.#options.scheduler.schedule(() => {
      this.#timers.remove(timer)
      this.#end(kind)
    }, minuteMs)
    this.#timers.add(timer)
    return minute
  }

  #end(kind: string): void {
    const dropped = this.#minutes.get(kind)?.dropped ?? 0
    this.#minutes.delete(kind)
    if (dropped > 0) this.#options.logger.log('warn', 'Log lines dropped', { line: kind, dropped })
  }
}

const fieldsOf = (session: SessionFacts): LogFields => ({ ...session })

const endFields = ({ outcome, code, durationMs, audioMs }: SessionEnd): LogFields => ({
  outcome,
  code,
  durationMs: Math.round(durationMs),
  audioMs,
})

/**
 * Logs the start and the end of each session, failed authentication and the notes of nodes and wires. Lines that a
 * client without a valid token can cause, and notes, are rate-limited.
 */
export const sessionLog = (logger: Logger, limited: RateLimitedLog): ServiceMonitor => {
  return {
    sessionMoved: () => undefined,
    sessionStarted: (session) => {
      logger.log('info', 'Session started', fieldsOf(session))
    },
    sessionEnded: (session, end) => {
      const fields = { ...fieldsOf(session), ...endFields(end) }
      const level = end.outcome === 'failed' ? 'warn' : 'info'
      if (end.outcome === 'refused') limited.write('Session refused', level, 'Session refused', fields)
      else if (session.clientId === undefined) limited.write('Session ended', level, 'Session ended', fields)
      else logger.log(level, 'Session ended', fields)
    },
    refused: () => undefined,
    // Of a model there is a line with the first refusal, and one after the last.
    startRefused: ({ tenant, model }, { code, message }) => {
      if (model !== undefined) return
      limited.write('Tenant refused', 'warn', 'A tenant is refused a session', { tenant, code, reason: message })
    },
    authFailed: (reason, at, peer) => {
      limited.write('Client rejected', 'warn', 'Client rejected', { reason, at, peer })
    },
    audio: () => undefined,
    firstPartial: () => undefined,
    milestone: () => undefined,
    audioWarning: (session, fault) => {
      limited.write('Audio warning', 'info', 'Audio warning', { ...fieldsOf(session), ...fault })
    },
    noted: (session, node, message, fields) => {
      limited.write('note', 'info', message, { ...fields, ...fieldsOf(session), node })
    },
    // The graph logs both as notes with the names of wire and node.
    dropped: () => undefined,
    nodeFailed: () => undefined,
  }
}

/** Logs when the load of the service begins to refuse sessions, and when it ends. */
export const refusingLog =
  (limited: RateLimitedLog) =>
  ({ phase, ...fields }: Refusing<BusyLoop>): void => {
    if (phase === 'begun') limited.write('Overloaded', 'warn', 'Overloaded: new sessions are refused', fields)
    else limited.write('Overload over', 'info', 'New sessions are accepted again', fields)
  }

/** Logs when sessions of a model begin to be refused, and when that ends. */
export const modelRefusingLog =
  (limited: RateLimitedLog) =>
  (model: string, { phase, ...fields }: Refusing): void => {
    if (phase === 'begun') {
      limited.write('Model refused', 'warn', 'Overloaded: new sessions of a model are refused', { model, ...fields })
    } else limited.write('Model accepted', 'info', 'New sessions of a model are accepted again', { model, ...fields })
  }

/** Logs challengers that read other words, which are in the line only if the operator wants them, and that fail. */
export const challengeLog =
  (limited: RateLimitedLog): OnChallenged =>
  (challenge, outcome) => {
    if (outcome === 'dropped') return
    if (isSpeechError(outcome)) {
      const cause = isSpeechError(outcome.cause) ? outcome.cause.message : undefined
      limited.write('Challenger failed', 'warn', 'A challenger failed', { ...challenge, error: outcome.message, cause })
      return
    }
    const { errors, differences } = outcome
    if (errors.right === errors.words && errors.inserted === 0) return
    const fields = { ...challenge, ...errors, differences }
    limited.write('Challenger differs', 'info', 'A challenger read other words', fields)
  }

/** Logs each change of the readiness, as `/readyz` reports it; not the start, of which nothing has changed yet. */
export const readinessLog = (limited: RateLimitedLog): ((readiness: Readiness) => void) => {
  let last: Readiness['type'] = 'starting'
  return ({ type }) => {
    if (type === last) return
    last = type
    if (type === 'ready') limited.write('Ready', 'info', 'Ready: new sessions are accepted', {})
    else {
      const level = type === 'without-engine' ? 'warn' : 'info'
      limited.write('Not ready', level, 'Not ready: new sessions are refused', { reason: readinessSentences[type] })
    }
  }
}

/**
 * Logs internal errors: the messages of this package, and of other errors only the stack frames, because their messages
 * can contain anything. Each code has its own rate limit. `origin` is the session, and the attempt at its segment.
 */
export const logFault =
  (limited: RateLimitedLog, now: () => number) =>
  (error: unknown, origin: FaultOrigin = {}): void => {
    const known = isSpeechError(error) ? { code: error.code } : {}
    // The error for the client refers to the operator, who needs the reason, such as a fault in a model's files.
    const cause = isSpeechError(error) && isSpeechError(error.cause) ? { cause: error.cause.message } : {}
    const message = isSpeechError(error) ? error.message : 'Internal error; the log level debug shows its origin.'
    const kind = isSpeechError(error) ? error.code : 'internal'
    limited.write(`fault ${kind}`, 'error', message, { ...known, ...cause, ...origin })
    if (error instanceof Error && error.stack !== undefined)
      limited.write(`fault ${kind}, debug`, 'debug', 'Origin of the internal error', {
        stack: framesOf(error.stack),
        atMs: now(),
      })
  }

/** The first stack frames, without the message. */
const framesOf = (stack: string): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 3)
    .map((line) => line.trim())
    .join(' < ')
