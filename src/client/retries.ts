import type { SpeechError } from '../errors/speech-error.js'
import { backoffMs } from '../kernel/backoff.js'
import type { Resumption } from './settings.js'

/** The attempts to get another connection since the service last made progress. */
export interface Retries {
  readonly attempts: number
  /** When the first of them failed. */
  readonly sinceMs: number | undefined
  /** Since when the present connection serves. */
  readonly servesSinceMs: number
}

export const noRetries: Retries = { attempts: 0, sinceMs: undefined, servesSinceMs: Infinity }

/** The service has made progress: the next loss is a new one. */
export const afterProgress = (retries: Retries): Retries => ({ ...retries, attempts: 0, sinceMs: undefined })

/** The attempt that follows a failure, or undefined when the budget leaves no time for one. */
export const nextAttempt = (
  retries: Retries,
  resumption: Resumption,
  error: SpeechError,
  nowMs: number,
): { readonly retries: Retries; readonly attempt: number; readonly delayMs: number } | undefined => {
  const { budgetMs, maxDelayMs, random } = resumption
  // A connection that served longer than the longest delay has done its work: its loss is a new one.
  const hasServed = retries.servesSinceMs + maxDelayMs <= nowMs
  const { attempts, sinceMs = nowMs } = hasServed ? noRetries : retries
  const attempt = attempts + 1
  const delayMs = Math.max(backoffMs(resumption, attempt, random), error.retryAfterMs ?? 0)
  if (nowMs + delayMs > sinceMs + budgetMs) return undefined
  return { retries: { attempts: attempt, sinceMs, servesSinceMs: Infinity }, attempt, delayMs }
}
