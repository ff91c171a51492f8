import { Subscription, type SchedulerLike } from 'rxjs'
import type { LogFields, Logger, LogLevel } from './logger.js'
import { isSpeechError } from '../../errors/speech-error.js'
import type { ServiceMonitor, SessionEnd, SessionFacts } from '../monitor/service-monitor.js'

const minuteMs = 60_000

export interface LimitedLogOptions {
  readonly logger: Logger
  readonly scheduler: SchedulerLike
  /** Lines of one kind. */
  readonly linesPerMinute: number
  /** Called for each line that is left out. */
  readonly onLeftOut?: ((kind: string) => void) | undefined
}

/** The minute of one kind of line, which begins with the first of them. */
interface Minute {
  lines: number
  leftOut: number
}

/** Writes so many lines of each kind a minute, and when the minute is over one that says how many were left out. */
export class LimitedLog {
  readonly #options: LimitedLogOptions
  readonly #minutes = new Map<string, Minute>()
  readonly #timers = new Subscription()

  constructor(options: LimitedLogOptions) {
    this.#options = options
  }

  /** `kind` is a word of ours, so that their number has a bound. */
  write(kind: string, level: LogLevel, message: string, fields: LogFields): void {
    const { logger, linesPerMinute, onLeftOut } = this.#options
    const minute = this.#minutes.get(kind) ?? this.#begin(kind)
    minute.lines += 1
    if (minute.lines <= linesPerMinute) logger.log(level, message, fields)
    else {
      minute.leftOut += 1
      onLeftOut?.(kind)
    }
  }

  /** Says what was left out until now, and ends all timers. */
  close(): void {
    this.#timers.unsubscribe()
    for (const kind of [...this.#minutes.keys()]) this.#end(kind)
  }

  #begin(kind: string): Minute {
    const minute = { lines: 0, leftOut: 0 }
    this.#minutes.set(kind, minute)
    const timer = this.#options.scheduler.schedule(() => {
      this.#timers.remove(timer)
      this.#end(kind)
    }, minuteMs)
    this.#timers.add(timer)
    return minute
  }

  #end(kind: string): void {
    const leftOut = this.#minutes.get(kind)?.leftOut ?? 0
    this.#minutes.delete(kind)
    if (leftOut > 0) this.#options.logger.log('warn', 'Lines left out', { line: kind, leftOut })
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
 * Writes the life of sessions: a line at the start, one at the end, one for who is not let in, one for what a node or a wire
 * has to say. What a client without a good token can cause, refusals and notes are limited, each for itself.
 */
export const sessionLog = (logger: Logger, limited: LimitedLog): ServiceMonitor => {
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
    authFailed: (reason, at, peer) => {
      limited.write('Not let in', 'warn', 'Not let in', { reason, at, peer })
    },
    audio: () => undefined,
    firstPartial: () => undefined,
    milestone: () => undefined,
    noted: (session, node, message, fields) => {
      limited.write('note', 'info', message, { ...fields, ...fieldsOf(session), node })
    },
    // The graph notes both with the names of the wire and the node.
    dropped: () => undefined,
    nodeFailed: () => undefined,
  }
}

/**
 * A fault inside, as a line: our own words, and of others only where they came from, since they may hold anything. Each
 * code is limited for itself.
 */
export const logFault =
  (limited: LimitedLog, now: () => number) =>
  (error: unknown): void => {
    const known = isSpeechError(error) ? { code: error.code } : {}
    // What is amiss with a model's files is the operator's business, whom the client was told to ask.
    const cause = isSpeechError(error) && isSpeechError(error.cause) ? { cause: error.cause.message } : {}
    const message = isSpeechError(error) ? error.message : 'A fault inside; the level debug shows where.'
    const kind = isSpeechError(error) ? error.code : 'internal'
    limited.write(`fault ${kind}`, 'error', message, { ...known, ...cause })
    if (error instanceof Error && error.stack !== undefined)
      limited.write(`fault ${kind}, debug`, 'debug', 'The fault came from', {
        stack: framesOf(error.stack),
        atMs: now(),
      })
  }

/** Where, without what was said. */
const framesOf = (stack: string): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 3)
    .map((line) => line.trim())
    .join(' < ')
