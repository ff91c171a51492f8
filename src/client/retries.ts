import type { SpeechError } from '../errors/speech-error.js'
import type { Resumption } from './settings.js'

/** The attempts to reconnect since the service last made progress. */
export interface Retries {
  readonly attempts: number
  /** When the first attempt failed. */
  readonly sinceMs: number | undefined
  /** When the current connection was opened. */
  readonly servesSinceMs: number
}

export const noRetries: Retries = { attempts: 0, sinceMs: undefined, servesSinceMs: Infinity }

/** The service has made progress, so the next loss starts a new count. */
export const afterProgress = (retries: Retries): Retries => ({ ...retries, attempts: 0, sinceMs: undefined })

/** The attempt after a failure; undefined if the budget leaves no time for it. */
export const nextAttempt = (
  retries: Retries,
  resumption: Resumption,
  error: SpeechError,
  nowMs: number,
): { readonly retries: Retries; readonly attempt: number; readonly delayMs: number } | undefined => {
  const { budgetMs, maxDelayMs } = resumption
  // The loss of a connection that was open for longer than the maximum delay starts a new count.
  const hasServed = retries.servesSinceMs + maxDelayMs <= nowMs
  const { attempts, sinceMs = nowMs } = hasServed ? noRetries : retries
  const attempt = attempts + 1
  const delayMs = resumption.delayMs(attempt, error, nowMs)
  if (nowMs + delayMs > sinceMs + budgetMs) return undefined
  return { retries: { attempts: attempt, sinceMs, servesSinceMs: Infinity }, attempt, delayMs }
}
