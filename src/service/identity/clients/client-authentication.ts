import { Semaphore } from '../../../kernel/semaphore.js'
import { unmatchableHash, verifySecret } from './client-secret.js'
import { createFailureLimit, createRecentSuccesses } from './attempt-history.js'
import type { Subscription, SubscriptionStore } from './client.js'

export interface ClientAuthenticationOptions {
  readonly subscriptions: SubscriptionStore
  /** Of one client from one address; the other bounds follow from it. */
  readonly failuresPerMinute: number
  readonly now: () => number
}

export type Verdict =
  { readonly type: 'accepted' } | { readonly type: 'rejected' } | { readonly type: 'wait'; readonly forMs: number }

export interface ClientAuthentication {
  /** How long the address must wait whatever it asks, in milliseconds; 0 when somebody there may try. */
  retryAfterMs(address: string): number
  authenticate(clientId: string, secret: string, address: string): Promise<Verdict>
}

/** Many clients may share an address, so it may fail so many times as often as one of them. */
const addressFactor = 5
/** So much is guessed at one client in a minute, from wherever; beyond it only addresses that it is known from may go on. */
const clientFactor = 10

/** While so many checks run and wait, others are told to come back: each takes 16 MiB and a thread of Node's four. */
const checksAtOnce = 2
const checksWaiting = 100
const busyMs = 1000

const previousHash = ({ previousSecret }: Subscription, nowMs: number): string | undefined =>
  previousSecret !== undefined && nowMs < previousSecret.untilMs ? previousSecret.hash : undefined

/**
 * Checks client secrets and counts failures: of a client from an address, of an address, and of a client from wherever.
 * The last holds up nobody at an address where the client has succeeded within a day, and none of them a secret that was
 * right there within a day: so strangers cannot lock a client out, also where they share its address behind a proxy.
 * An unknown client is treated as a known one with another secret: same answer, same cost, same counts.
 */
export const createClientAuthentication = (options: ClientAuthenticationOptions): ClientAuthentication => {
  const { subscriptions, failuresPerMinute, now } = options
  const limit = (factor: number) => createFailureLimit({ failuresPerMinute: factor * failuresPerMinute, now })
  const [ofPair, ofAddress, ofClient] = [limit(1), limit(addressFactor), limit(clientFactor)]
  const successes = createRecentSuccesses({ now })
  const checks = new Semaphore({ permits: checksAtOnce, maxWaiting: checksWaiting })
  const hashOfNobody = unmatchableHash()

  const matches = (subscription: Subscription | undefined, secret: string): Promise<boolean> =>
    subscription === undefined
      ? verifySecret(secret, hashOfNobody)
      : verifySecret(secret, subscription.secretHash, previousHash(subscription, now()))

  // The limits are read when the turn has come, so that guesses sent side by side count each other.
  const check = async (clientId: string, secret: string, address: string): Promise<Verdict> => {
    const pair = JSON.stringify([clientId, address])
    const attempt = { clientId, secret, address }
    const forMs = successes.hasSecret(attempt)
      ? 0
      : Math.max(
          ofPair.retryAfterMs([pair]),
          ofAddress.retryAfterMs([address]),
          successes.has(attempt) ? 0 : ofClient.retryAfterMs([clientId]),
        )
    if (forMs > 0) return { type: 'wait', forMs }
    if (await matches(subscriptions.find(clientId), secret)) {
      successes.record(attempt)
      return { type: 'accepted' }
    }
    ofPair.record([pair])
    ofAddress.record([address])
    ofClient.record([clientId])
    return { type: 'rejected' }
  }

  return {
    retryAfterMs: (address) => (successes.hasAddress(address) ? 0 : ofAddress.retryAfterMs([address])),
    authenticate: (clientId, secret, address) =>
      checks.run(() => check(clientId, secret, address)) ?? Promise.resolve({ type: 'wait', forMs: busyMs }),
  }
}
