import { createHash } from 'node:crypto'
import { Semaphore } from 'rxspeech-engines/semaphore'
import { createFailureLimit, createClientSuccesses } from './attempt-history.js'
import { unmatchableHash, verifySecret } from './client-secret.js'
import { isClientId, type ClientRegistration, type ClientStore } from './client.js'

/** Wrong secrets on other machines, which count here too. */
export interface FailureExchange {
  /** Tells the others of a failure; `keys` are hashes. */
  publishFailure(keys: readonly string[]): void
  /** Sets what is done with the failures of others. */
  onFailure(record: (keys: readonly string[]) => void): void
}

export interface ClientAuthenticationOptions {
  readonly clients: ClientStore
  /** Allowed failures of one client from one address; the other limits are multiples of it. */
  readonly failuresPerMinute: number
  readonly now: () => number
  /** @default failures of this process only */
  readonly exchange?: FailureExchange | undefined
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

const failureKinds = ['pair', 'address', 'client'] as const

/** A hash: a secret that was typed in the place of an id must not travel. */
const failureKey = (kind: (typeof failureKinds)[number], name: string): string =>
  `${kind}:${createHash('sha256').update(name).digest('base64url').slice(0, 22)}`

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
 * applies to a secret that was right there within a day. So strangers cannot lock a client out, not even where they
 * share its address behind a proxy. An unknown client is handled like a known one with a wrong secret: same answer,
 * cost and counts.
 */
export const createClientAuthentication = (options: ClientAuthenticationOptions): ClientAuthentication => {
  const { clients, failuresPerMinute, now, exchange } = options
  const limit = (factor: number) => createFailureLimit({ failuresPerMinute: factor * failuresPerMinute, now })
  const limits = { pair: limit(1), address: limit(addressFactor), client: limit(clientFactor) }
  const record = (keys: readonly string[]): void => {
    for (const kind of failureKinds) limits[kind].record(keys.filter((key) => key.startsWith(`${kind}:`)))
  }
  const recordEverywhere = (keys: readonly string[]): void => {
    record(keys)
    exchange?.publishFailure(keys)
  }
  exchange?.onFailure(record)
  const successes = createClientSuccesses({ now })
  const checks = new Semaphore({ permits: maxConcurrentChecks, maxWaiting: maxWaitingChecks })
  const hashForUnknown = unmatchableHash()

  const matches = (client: ClientRegistration | undefined, secret: string): Promise<boolean> =>
    client === undefined
      ? verifySecret(secret, hashForUnknown)
      : verifySecret(secret, client.secretHash, previousHash(client, now()))

  // The limits are read when the check runs, so that concurrent guesses count each other.
  const check = async (clientId: string, secret: string, address: string): Promise<AuthenticationResult> => {
    const keys = {
      pair: failureKey('pair', JSON.stringify([clientId, address])),
      address: failureKey('address', address),
      client: failureKey('client', clientId),
    }
    const attempt = { clientId, secret, address }
    const forMs = successes.hasSecret(attempt)
      ? 0
      : Math.max(
          limits.pair.retryAfterMs([keys.pair]),
          limits.address.retryAfterMs([keys.address]),
          successes.has(attempt) ? 0 : limits.client.retryAfterMs([keys.client]),
        )
    if (forMs > 0) return { type: 'wait', forMs }
    if (await matches(isClientId(clientId) ? clients.find(clientId) : undefined, secret)) {
      successes.record(attempt)
      return { type: 'accepted' }
    }
    recordEverywhere([keys.pair, keys.address, keys.client])
    return { type: 'rejected' }
  }

  return {
    retryAfterMs: (address) =>
      successes.hasAddress(address) ? 0 : limits.address.retryAfterMs([failureKey('address', address)]),
    countFailure: (address) => {
      const key = failureKey('address', address)
      const forMs = limits.address.retryAfterMs([key])
      if (forMs === 0) recordEverywhere([key])
      return forMs
    },
    authenticate: (clientId, secret, address) =>
      checks.run(() => check(clientId, secret, address)) ?? Promise.resolve({ type: 'wait', forMs: busyMs }),
  }
}

const previousHash = ({ previousSecret }: ClientRegistration, nowMs: number): string | undefined =>
  previousSecret !== undefined && nowMs < previousSecret.untilMs ? previousSecret.hash : undefined
