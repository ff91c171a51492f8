export interface BackoffOptions {
  /** The upper bound of the first delay, in milliseconds. */
  readonly firstDelayMs: number
  /** The upper bound of every delay, in milliseconds. */
  readonly maxDelayMs: number
}

/**
 * The delay before retry number `attempt` (from 1): exponential backoff with full jitter, so that clients that lost the
 * same service at the same moment do not return together.
 *
 * @param random returns a number from 0 to below 1; `() => 1` turns the jitter off
 */
export const backoffMs = (
  { firstDelayMs, maxDelayMs }: BackoffOptions,
  attempt: number,
  random: () => number,
): number => Math.round(random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1)))
