import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const windowMs = 60_000

export interface FailureLimitOptions {
  /** How many failures of one key are allowed within a minute. */
  readonly failuresPerMinute: number
  /** How many keys are kept; a new key replaces the one whose minute began first. @default 10000 */
  readonly maxKeys?: number | undefined
  /** Milliseconds on a scale without jumps. */
  readonly now: () => number
}

/** Counts failures by key, in bounded memory. */
export interface FailureLimit {
  /** How long the keys have to wait, in milliseconds; 0 when none has failed too often. */
  readonly retryAfterMs: (keys: readonly string[]) => number
  readonly record: (keys: readonly string[]) => void
  readonly size: number
}

/**
 * A minute begins with the first failure of a key and ends with its count. All minutes last equally long, so a `Map` in
 * insertion order has the oldest first, and no timer is necessary.
 */
export const createFailureLimit = ({ failuresPerMinute, maxKeys = 10_000, now }: FailureLimitOptions): FailureLimit => {
  const counts = new Map<string, { readonly untilMs: number; readonly failures: number }>()

  const removeOld = (): void => {
    for (const [key, { untilMs }] of counts) {
      if (untilMs > now() && counts.size <= maxKeys) return
      counts.delete(key)
    }
  }

  const waitMs = (key: string): number => {
    const count = counts.get(key)
    return count === undefined || count.failures < failuresPerMinute ? 0 : Math.max(0, count.untilMs - now())
  }

  const add = (key: string): void => {
    const count = counts.get(key)
    counts.set(key, { untilMs: count?.untilMs ?? now() + windowMs, failures: (count?.failures ?? 0) + 1 })
  }

  return {
    retryAfterMs: (keys) => Math.max(0, ...keys.map(waitMs)),
    record: (keys) => {
      removeOld()
      keys.forEach(add)
      removeOld()
    },
    get size() {
      return counts.size
    },
  }
}

const successLifetimeMs = 86_400_000
const maxSuccesses = 10_000

interface Login {
  readonly clientId: string
  readonly address: string
}

interface Attempt extends Login {
  readonly secret: string
}

/** From where clients authenticated recently, in bounded memory. */
export interface RecentSuccesses {
  /** Whether the client succeeded from the address. */
  readonly has: (login: Login) => boolean
  /** Whether the client succeeded from the address with this secret, so that the attempt is not a guess. */
  readonly hasSecret: (attempt: Attempt) => boolean
  /** Whether any client succeeded from the address. */
  readonly hasAddress: (address: string) => boolean
  readonly record: (attempt: Attempt) => void
}

interface Success {
  readonly address: string
  readonly untilMs: number
  readonly digest: Buffer
}

interface AddressUse {
  readonly untilMs: number
  readonly successes: number
}

/**
 * Keeps each success for a day after its last repetition; beyond the limit the oldest is removed. Secrets are kept as
 * HMACs by a key of this process, which are useless elsewhere.
 */
export const createRecentSuccesses = ({ now }: { readonly now: () => number }): RecentSuccesses => {
  const key = randomBytes(32)
  const successes = new Map<string, Success>()
  const addresses = new Map<string, AddressUse>()
  const nameOf = ({ clientId, address }: Login): string => JSON.stringify([clientId, address])
  const digestOf = (secret: string): Buffer => createHmac('sha256', key).update(secret).digest()

  const current = (login: Login): Success | undefined => {
    const success = successes.get(nameOf(login))
    return success !== undefined && success.untilMs > now() ? success : undefined
  }

  const remove = (name: string): void => {
    const success = successes.get(name)
    if (success === undefined) return
    successes.delete(name)
    const use = addresses.get(success.address)
    if (use === undefined) return
    if (use.successes > 1) addresses.set(success.address, { ...use, successes: use.successes - 1 })
    else addresses.delete(success.address)
  }

  return {
    has: (login) => current(login) !== undefined,
    hasSecret: (attempt) => {
      const success = current(attempt)
      return success !== undefined && timingSafeEqual(success.digest, digestOf(attempt.secret))
    },
    hasAddress: (address) => (addresses.get(address)?.untilMs ?? 0) > now(),
    record: (attempt) => {
      const { address, secret } = attempt
      const name = nameOf(attempt)
      const untilMs = now() + successLifetimeMs
      // Removed and added again, so that the insertion order is that of the last success.
      remove(name)
      successes.set(name, { address, untilMs, digest: digestOf(secret) })
      addresses.set(address, { untilMs, successes: (addresses.get(address)?.successes ?? 0) + 1 })
      const [oldest] = successes.keys()
      if (successes.size > maxSuccesses && oldest !== undefined) remove(oldest)
    },
  }
}
