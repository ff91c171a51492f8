import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const windowMs = 60_000

export interface FailureLimitOptions {
  /** How many failures of one key within a minute are let through. */
  readonly failuresPerMinute: number
  /** How many keys are remembered; the one whose minute began first is forgotten for a new one. */
  readonly maxKeys?: number
  /** Milliseconds on any scale that does not jump. */
  readonly now: () => number
}

/** Counts failures by key, in memory that has a bound. */
export interface FailureLimit {
  /** How long the keys must wait, in milliseconds; 0 when none has failed too often. */
  retryAfterMs(keys: readonly string[]): number
  record(keys: readonly string[]): void
  readonly size: number
}

/**
 * A minute begins with the first failure of a key and ends with its count. Since all last equally long, a `Map` in
 * order of insertion holds the oldest first, and nothing needs a timer.
 */
export const createFailureLimit = ({ failuresPerMinute, maxKeys = 10_000, now }: FailureLimitOptions): FailureLimit => {
  const counts = new Map<string, { readonly untilMs: number; readonly failures: number }>()

  const forgetOld = (): void => {
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
      forgetOld()
      keys.forEach(add)
      forgetOld()
    },
    get size() {
      return counts.size
    },
  }
}

const rememberedMs = 86_400_000
const maxSuccesses = 10_000

/** Who was let in, from where, with what. */
export interface Attempt {
  readonly clientId: string
  readonly address: string
  readonly secret: string
}

/** Where clients have been let in of late, in memory that has a bound. */
export interface RecentSuccesses {
  /** Whether the client has been let in from the address. */
  has(attempt: Omit<Attempt, 'secret'>): boolean
  /** Whether it has been let in from there with this secret, so that this is no guess. */
  hasSecret(attempt: Attempt): boolean
  /** Whether anybody has been let in from the address. */
  hasAddress(address: string): boolean
  record(attempt: Attempt): void
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
 * Each is remembered for a day after the last time; of too many the one that was longest ago is forgotten. A secret is
 * kept as its HMAC by a key of this process, which says nothing elsewhere.
 */
export const createRecentSuccesses = ({ now }: { readonly now: () => number }): RecentSuccesses => {
  const key = randomBytes(32)
  const successes = new Map<string, Success>()
  const addresses = new Map<string, AddressUse>()
  const nameOf = ({ clientId, address }: Omit<Attempt, 'secret'>): string => JSON.stringify([clientId, address])
  const digestOf = (secret: string): Buffer => createHmac('sha256', key).update(secret).digest()

  const current = (attempt: Omit<Attempt, 'secret'>): Success | undefined => {
    const success = successes.get(nameOf(attempt))
    return success !== undefined && success.untilMs > now() ? success : undefined
  }

  const forget = (name: string): void => {
    const success = successes.get(name)
    if (success === undefined) return
    successes.delete(name)
    const use = addresses.get(success.address)
    if (use === undefined) return
    if (use.successes > 1) addresses.set(success.address, { ...use, successes: use.successes - 1 })
    else addresses.delete(success.address)
  }

  return {
    has: (attempt) => current(attempt) !== undefined,
    hasSecret: (attempt) => {
      const success = current(attempt)
      return success !== undefined && timingSafeEqual(success.digest, digestOf(attempt.secret))
    },
    hasAddress: (address) => (addresses.get(address)?.untilMs ?? 0) > now(),
    record: (attempt) => {
      const { address, secret } = attempt
      const name = nameOf(attempt)
      const untilMs = now() + rememberedMs
      // Put in again, so that the order of insertion is that of the last time.
      forget(name)
      successes.set(name, { address, untilMs, digest: digestOf(secret) })
      addresses.set(address, { untilMs, successes: (addresses.get(address)?.successes ?? 0) + 1 })
      const [oldest] = successes.keys()
      if (successes.size > maxSuccesses && oldest !== undefined) forget(oldest)
    },
  }
}
