import { unmatchableHash, verifySecret } from './client-secret.js'
import { createFailureLimit } from './failure-limit.js'
import type { SubscriptionStore } from './subscription.js'
import { createTurnstile } from './turnstile.js'

export interface ClientAuthenticationOptions {
  readonly subscriptions: SubscriptionStore
  readonly failuresPerMinute: number
  readonly now: () => number
}

export type Verdict =
  { readonly type: 'accepted' } | { readonly type: 'rejected' } | { readonly type: 'wait'; readonly forMs: number }

export interface ClientAuthentication {
  /** How long the address must wait, in milliseconds; 0 when it may try. */
  retryAfterMs(address: string): number
  authenticate(clientId: string, secret: string, address: string): Promise<Verdict>
}

/** While so many checks run and wait, others are told to come back: each takes 16 MiB and a thread of Node's four. */
const checksAtOnce = 2
const checksWaiting = 100
const busyMs = 1000

/**
 * Checks client secrets and counts failures, by client and by address. An unknown client is treated as a known one
 * with another secret: same answer, same cost, same count.
 */
export const createClientAuthentication = (options: ClientAuthenticationOptions): ClientAuthentication => {
  const { subscriptions, failuresPerMinute, now } = options
  const failures = createFailureLimit({ failuresPerMinute, now })
  const turnstile = createTurnstile({ atOnce: checksAtOnce, waiting: checksWaiting })
  const hashOfNobody = unmatchableHash()

  // The limit is read when the turn has come, so that guesses sent side by side count each other.
  const check = async (clientId: string, secret: string, keys: readonly string[]): Promise<Verdict> => {
    const forMs = failures.retryAfterMs(keys)
    if (forMs > 0) return { type: 'wait', forMs }
    if (await verifySecret(secret, subscriptions.find(clientId)?.secretHash ?? hashOfNobody))
      return { type: 'accepted' }
    failures.record(keys)
    return { type: 'rejected' }
  }

  return {
    retryAfterMs: (address) => failures.retryAfterMs([`address ${address}`]),
    authenticate: (clientId, secret, address) =>
      turnstile.pass(() => check(clientId, secret, [`client ${clientId}`, `address ${address}`])) ??
      Promise.resolve({ type: 'wait', forMs: busyMs }),
  }
}
