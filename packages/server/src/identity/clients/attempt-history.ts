import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { RecentSuccesses } from './recent-successes.js'

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

interface Login {
  readonly clientId: string
  readonly address: string
}

interface Attempt extends Login {
  readonly secret: string
}

/** From where clients authenticated recently, in bounded memory. */
export interface ClientSuccesses {
  /** Whether the client succeeded from the address. */
  readonly has: (login: Login) => boolean
  /** Whether the client succeeded from the address with this secret, so that the attempt is not a guess. */
  readonly hasSecret: (attempt: Attempt) => boolean
  /** Whether any client succeeded from the address. */
  readonly hasAddress: (address: string) => boolean
  readonly record: (attempt: Attempt) => void
}

/** Keeps secrets as HMACs by a key of this process, which are useless elsewhere. */
export const createClientSuccesses = ({ now }: { readonly now: () => number }): ClientSuccesses => {
  const key = randomBytes(32)
  const digests = new RecentSuccesses<Buffer>(now)
  const addresses = new RecentSuccesses(now)
  const nameOf = ({ clientId, address }: Login): string => JSON.stringify([clientId, address])
  const digestOf = (secret: string): Buffer => createHmac('sha256', key).update(secret).digest()
  return {
    has: (login) => digests.get(nameOf(login)) !== undefined,
    hasSecret: (attempt) => {
      const digest = digests.get(nameOf(attempt))
      return digest !== undefined && timingSafeEqual(digest, digestOf(attempt.secret))
    },
    hasAddress: (address) => addresses.get(address) !== undefined,
    record: (attempt) => {
      digests.set(nameOf(attempt), digestOf(attempt.secret))
      addresses.set(attempt.address, true)
    },
  }
}
