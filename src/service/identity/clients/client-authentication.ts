import { Semaphore } from '../../../kernel/semaphore.js'
import { createFailureLimit, createRecentSuccesses } from './attempt-history.js'
import { unmatchableHash, verifySecret } from './client-secret.js'
import type { ClientRegistration, ClientStore } from './client.js'

export interface ClientAuthenticationOptions {
  readonly clients: ClientStore
  /** Allowed failures of one client from one address; the other limits are multiples of it. */
  readonly failuresPerMinute: number
  readonly now: () => number
}

type AuthenticationResult =
  { readonly type: 'accepted' } | { readonly type: 'rejected' } | { readonly type: 'wait'; readonly forMs: number }

export interface ClientAuthentication {
  /** How long an address has to wait for any request, in milliseconds; 0 if it need not wait. */
  readonly retryAfterMs: (address: string) => number
  readonly authenticate: (clientId: string, secret: string, address: string) => Promise<AuthenticationResult>
  /**
   * Counts a wrong token from an address together with wrong secrets. Returns how long the address has to wait, in
   * milliseconds; 0 if it has not failed too often. A right token never has to wait.
   */
  readonly countFailure: (address: string) => number
}

/** Several clients can share an address, so it may fail this many times as often as one client. */
const addressFactor = 5
/** How many times as often a client may fail from all addresses together. */
const clientFactor = 10

/**
 * Each check takes 16 MiB and one of Node's four pool threads; beyond these numbers clients are asked to try again
 * later.
 */
const maxConcurrentChecks = 2
const maxWaitingChecks = 100
const busyMs = 1000

/**
 * Checks client secrets and counts failures: of a client from one address, of an address, and of a client from all
 * addresses. The last limit does not apply to addresses from which the client has succeeded within a day, and no limit
 * applies to a secret that was right there within a day. So strangers cannot lock a client out, not even where they share
 * its address behind a proxy. An unknown client is handled like a known one with a wrong secret: same answer, cost and counts.
 */
export const createClientAuthentication = (options: ClientAuthenticationOptions): ClientAuthentication => {
  const { clients, failuresPerMinute, now } = options
  const limit = (factor: number) => createFailureLimit({ failuresPerMinute: factor * failuresPerMinute, now })
  const pairLimit = limit(1)
  const addressLimit = limit(addressFactor)
  const clientLimit = limit(clientFactor)
  const successes = createRecentSuccesses({ now })
  const checks = new Semaphore({ permits: maxConcurrentChecks, maxWaiting: maxWaitingChecks })
  const hashForUnknown = unmatchableHash()

  const matches = (client: ClientRegistration | undefined, secret: string): Promise<boolean> =>
    client === undefined
      ? verifySecret(secret, hashForUnknown)
      : verifySecret(secret, client.secretHash, previousHash(client, now()))

  // The limits are read when the check runs, so that concurrent guesses count each other.
  const check = async (clientId: string, secret: string, address: string): Promise<AuthenticationResult> => {
    const pair = JSON.stringify([clientId, address])
    const attempt = { clientId, secret, address }
    const forMs = successes.hasSecret(attempt)
      ? 0
      : Math.max(
          pairLimit.retryAfterMs([pair]),
          addressLimit.retryAfterMs([address]),
          successes.has(attempt) ? 0 : clientLimit.retryAfterMs([clientId]),
        )
    if (forMs > 0) return { type: 'wait', forMs }
    if (await matches(clients.find(clientId), secret)) {
      successes.record(attempt)
      return { type: 'accepted' }
    }
    pairLimit.record([pair])
    addressLimit.record([address])
    clientLimit.record([clientId])
    return { type: 'rejected' }
  }

  return {
    retryAfterMs: (address) => (successes.hasAddress(address) ? 0 : addressLimit.retryAfterMs([address])),
    countFailure: (address) => {
      const forMs = addressLimit.retryAfterMs([address])
      if (forMs === 0) addressLimit.record([address])
      return forMs
    },
    authenticate: (clientId, secret, address) =>
      checks.run(() => check(clientId, secret, address)) ?? Promise.resolve({ type: 'wait', forMs: busyMs }),
  }
}

const previousHash = ({ previousSecret }: ClientRegistration, nowMs: number): string | undefined =>
  previousSecret !== undefined && nowMs < previousSecret.untilMs ? previousSecret.hash : undefined
