/** How long a tenant that has asked for a session counts as one that may need places. */
const rememberMs = 3_600_000

/** What tenants above their share leave to others. */
export interface ShareLimits {
  /**
   * The part of each limit of sessions, load and places, in percent, that a tenant above its share leaves to others
   * which were there within an hour; 0 is none. @default 10
   */
  readonly reservePercent: number
}

/** The part of all places that tenants share, in proportion to their weights. @default 1 for each */
export type TenantWeights = Readonly<Record<string, number>>

export interface TenantSharesOptions {
  readonly weights?: TenantWeights | undefined
  /** The clock, in milliseconds. */
  readonly now: () => number
}

interface Seen {
  readonly tenant: string
  readonly atMs: number
}

/**
 * Knows which tenants have more than their share of the sessions, those of other machines included. The share of a
 * tenant is its part of the sessions that run, by its weight among the tenants that have sessions. Each step costs the
 * same with one tenant and with many.
 */
export class TenantShares {
  readonly #weights: TenantWeights
  readonly #now: () => number
  readonly #counts = new Map<string, number>()
  #sessions = 0
  /** Of the tenants that have sessions. */
  #weight = 0
  /** The tenant that was there last, and the last other one. */
  #latest: Seen | undefined
  #other: Seen | undefined

  constructor({ weights = {}, now }: TenantSharesOptions) {
    this.#weights = weights
    this.#now = now
  }

  /** Counts sessions that a tenant has in addition, on this machine or another. */
  add(tenant: string, change: number): void {
    const before = this.#counts.get(tenant) ?? 0
    const count = before + change
    if (count === 0) this.#counts.delete(tenant)
    else this.#counts.set(tenant, count)
    this.#sessions += change
    this.#weight += (Number(count > 0) - Number(before > 0)) * this.#weightOf(tenant)
  }

  /** A tenant has sessions, or asks for one. */
  saw(tenant: string): void {
    if (this.#latest?.tenant !== tenant) this.#other = this.#latest
    this.#latest = { tenant, atMs: this.#now() }
  }

  /**
   * Whether a tenant that asks for a session has its share, while another tenant has sessions or has asked for one
   * within an hour. Such a tenant leaves a reserve of every limit to the others. One that is alone has everything.
   */
  isAbove(tenant: string): boolean {
    const weight = this.#weightOf(tenant)
    const count = this.#counts.get(tenant) ?? 0
    // With more sessions than its share, which is a part of its own ones.
    if (this.#counts.size === Number(count > 0)) return this.#hasSeenOther(tenant)
    const weights = this.#weight + (count > 0 ? 0 : weight)
    return count + 1 > ((this.#sessions + 1) * weight) / weights
  }

  #weightOf(tenant: string): number {
    return Object.hasOwn(this.#weights, tenant) ? (this.#weights[tenant] ?? 1) : 1
  }

  #hasSeenOther(tenant: string): boolean {
    const seen = this.#latest?.tenant === tenant ? this.#other : this.#latest
    return seen !== undefined && this.#now() - seen.atMs < rememberMs
  }
}

/** What a tenant above its share leaves of a limit to others. */
export const reserveOf = {
  /** Whole sessions, so that a limit of a few is used up to the last one. */
  sessions: (limit: number, reservePercent: number): number => Math.floor((limit * reservePercent) / 100),
  /** At least one, as the reserve of a mean use, unless it is turned off. */
  places: (limit: number, reservePercent: number): number =>
    reservePercent === 0 ? 0 : Math.max(1, (limit * reservePercent) / 100),
  load: (limit: number, reservePercent: number): number => (limit * reservePercent) / 100,
} as const
