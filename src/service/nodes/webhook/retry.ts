import { retryAfterMs } from '../../../protocol/retry-after.js'

/** The longest wait that a receiver may ask for. */
const maxRetryAfterMs = 300_000

/** The wait that a receiver asks for by `Retry-After`, as far as it may; undefined where it asks for none. */
export const askedWaitMs = (header: string | undefined, nowMs: number): number | undefined => {
  const waitMs = retryAfterMs(header, nowMs)
  return waitMs === undefined ? undefined : Math.min(waitMs, maxRetryAfterMs)
}

/** Whether the same request may fare better later: the receiver is busy or ill, or too slow to read. */
export const mayRetry = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500
