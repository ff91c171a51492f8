import { isSpeechError } from '../../errors/speech-error.js'
import type { ServiceMonitor, SessionEnd, SessionFacts } from '../monitor/service-monitor.js'
import { LineLimit } from './line-limit.js'
import type { LogFields, Logger } from './logger.js'

/** Lines that anybody on the network can cause, of each kind, a minute. */
const linesPerMinute = 60

const fieldsOf = (session: SessionFacts): LogFields => ({ ...session })

const endFields = ({ outcome, code, durationMs, audioMs }: SessionEnd): LogFields => ({
  outcome,
  code,
  durationMs: Math.round(durationMs),
  audioMs,
})

/** Writes the life of sessions: a line at the start, one at the end, one for who is not let in, one for what a node or a wire has to say. */
export const sessionLog = (logger: Logger, now: () => number): ServiceMonitor => {
  const refusals = new LineLimit(linesPerMinute, now)
  const strangers = new LineLimit(linesPerMinute, now)
  const notes = new LineLimit(linesPerMinute, now)
  const limited = (limit: LineLimit, write: (leftOut: LogFields) => void): void => {
    const leftOut = limit.pass()
    if (leftOut !== undefined) write(leftOut > 0 ? { leftOut } : {})
  }
  return {
    sessionMoved: () => undefined,
    sessionStarted: (session) => {
      logger.log('info', 'Session started', fieldsOf(session))
    },
    sessionEnded: (session, end) => {
      if (end.outcome === 'refused') {
        limited(refusals, (leftOut) => {
          logger.log('info', 'Session refused', { ...fieldsOf(session), ...endFields(end), ...leftOut })
        })
      } else
        logger.log(end.outcome === 'failed' ? 'warn' : 'info', 'Session ended', {
          ...fieldsOf(session),
          ...endFields(end),
        })
    },
    refused: () => undefined,
    authFailed: (reason, at, peer) => {
      limited(strangers, (leftOut) => {
        logger.log('warn', 'Not let in', { reason, at, peer, ...leftOut })
      })
    },
    audio: () => undefined,
    firstPartial: () => undefined,
    milestone: () => undefined,
    noted: (session, node, message, fields) => {
      limited(notes, (leftOut) => {
        logger.log('info', message, { ...fields, ...fieldsOf(session), node, ...leftOut })
      })
    },
    // The graph notes both with the names of the wire and the node.
    dropped: () => undefined,
    nodeFailed: () => undefined,
  }
}

/** A fault inside, as a line: our own words, and of others only where they came from, since they may hold anything. */
export const logFault =
  (logger: Logger, now: () => number) =>
  (error: unknown): void => {
    const known = isSpeechError(error) ? { code: error.code } : {}
    // What is amiss with a model's files is the operator's business, whom the client was told to ask.
    const cause = isSpeechError(error) && isSpeechError(error.cause) ? { cause: error.cause.message } : {}
    const message = isSpeechError(error) ? error.message : 'A fault inside; the level debug shows where.'
    logger.log('error', message, { ...known, ...cause })
    if (error instanceof Error && error.stack !== undefined)
      logger.log('debug', 'The fault came from', { stack: framesOf(error.stack), atMs: now() })
  }

/** Where, without what was said. */
const framesOf = (stack: string): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 3)
    .map((line) => line.trim())
    .join(' < ')
