import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { reserveOf, TenantShares, type ShareLimits, type TenantWeights } from './tenant-shares.js'

/** The maximum number of concurrent sessions. */
export interface AdmissionLimits extends ShareLimits {
  /** Of all clients. @default 200, in development 4000 */
  readonly sessions: number
  /** Of one tenant, on all machines together. @default 200 for each machine that is there, in development 4000 */
  readonly sessionsPerTenant: number
  /** With one token, on all machines together. @default 50 for each machine that is there, in development 4000 */
  readonly sessionsPerToken: number
}

/** Sessions by tenant and by token. A tenant that has just asked for its first one has 0. */
export interface SessionCounts {
  readonly tenants: ReadonlyMap<string, number>
  readonly tokens: ReadonlyMap<string, number>
}

/** The sessions on other machines, which count towards the limits of tenants and tokens. */
export interface OtherCounts {
  /** How many other machines are there. */
  readonly machines: number
  /** Calls `changed` with the sessions that tenants begin and end there; with 0 for one that is still there. */
  onTenant(changed: (tenant: string, change: number) => void): void
  ofTenant(tenant: string): number
  ofToken(tokenId: string): number
}

const alone: OtherCounts = { machines: 0, onTenant: () => undefined, ofTenant: () => 0, ofToken: () => 0 }

/** Other machines are told for this long that a tenant without a session has asked for one. */
const askedMs = 2_000

export interface AdmissionsOptions {
  /** @default there are no other machines */
  readonly others?: OtherCounts | undefined
  readonly weights?: TenantWeights | undefined
  /** The limits that are for each machine: those that nobody has set, so that a further machine lifts them. @default none */
  readonly eachMachine?: readonly (keyof AdmissionLimits)[] | undefined
  /** The clock, in milliseconds. */
  readonly now: () => number
}

/** A slot of a session. */
export interface Slot {
  /** Whether the tenant has its share already, so that it leaves a reserve of each limit to others. */
  readonly isAboveShare: boolean
  /** Further calls have no effect. */
  readonly release: () => void
}

/**
 * Counts the running sessions. A session beyond a limit is refused at once, with an error that names the limit. A
 * tenant above its share leaves the last slots to others.
 */
export class Admissions {
  readonly #limits: AdmissionLimits
  readonly #eachMachine: readonly (keyof AdmissionLimits)[]
  readonly #others: OtherCounts
  readonly #shares: TenantShares
  readonly #now: () => number
  readonly #byToken = new Map<string, number>()
  readonly #byTenant = new Map<string, number>()
  #all = 0
  /** The tenant that last asked for its first session. */
  #asked: { readonly tenant: string; readonly atMs: number } | undefined

  constructor(limits: AdmissionLimits, { others = alone, weights, eachMachine = [], now }: AdmissionsOptions) {
    this.#limits = limits
    this.#eachMachine = eachMachine
    this.#others = others
    this.#now = now
    this.#shares = new TenantShares({ weights, now })
    others.onTenant((tenant, change) => {
      this.#shares.saw(tenant)
      this.#shares.add(tenant, change)
    })
  }

  /** The sessions of this process. */
  get counts(): SessionCounts {
    const tenants = new Map(this.#byTenant)
    if (this.#asked !== undefined && this.#now() - this.#asked.atMs < askedMs && !tenants.has(this.#asked.tenant))
      tenants.set(this.#asked.tenant, 0)
    return { tenants, tokens: this.#byToken }
  }

  /**
   * A tenant was refused before it was known. Without this, a tenant that is alone would take each slot that becomes
   * free.
   */
  saw(tenant: string): void {
    this.#shares.saw(tenant)
    if (!this.#byTenant.has(tenant)) this.#asked = { tenant, atMs: this.#now() }
  }

  /** Throws when the service is full. Call it before a token is verified, which costs more. */
  checkCapacity(): void {
    const { sessions } = this.#limits
    if (this.#all >= sessions) throw full(`The service has ${sessions} sessions, its limit; try again later.`)
  }

  admit(tokenId: string, tenant: string): Slot {
    this.saw(tenant)
    this.checkCapacity()
    const { sessions, reservePercent } = this.#limits
    const sessionsPerToken = this.#limitOf('sessionsPerToken')
    const sessionsPerTenant = this.#limitOf('sessionsPerTenant')
    if (countOf(this.#byToken, tokenId) + this.#others.ofToken(tokenId) >= sessionsPerToken) {
      throw full(`The token has ${sessionsPerToken} sessions, its limit; end one or try again later.`)
    }
    if (countOf(this.#byTenant, tenant) + this.#others.ofTenant(tenant) >= sessionsPerTenant) {
      throw full(`The tenant has ${sessionsPerTenant} sessions, its limit; end one or try again later.`)
    }
    const isAboveShare = this.#shares.isAbove(tenant)
    if (isAboveShare && this.#all + 1 > sessions - reserveOf.sessions(sessions, reservePercent)) throw full(aboveShare)
    this.#add(tokenId, tenant, 1)
    let isHeld = true
    return {
      isAboveShare,
      release: () => {
        if (isHeld) this.#add(tokenId, tenant, -1)
        isHeld = false
      },
    }
  }

  #limitOf(name: keyof AdmissionLimits): number {
    return this.#limits[name] * (this.#eachMachine.includes(name) ? 1 + this.#others.machines : 1)
  }

  #add(tokenId: string, tenant: string, change: 1 | -1): void {
    this.#all += change
    this.#shares.add(tenant, change)
    addTo(this.#byToken, tokenId, change)
    addTo(this.#byTenant, tenant, change)
  }
}

/** Of the last sessions and places, which are for others. */
export const aboveShare = 'The tenant has its share of the sessions, and the last ones are for others; try again later.'

const full = (message: string): SpeechError => new SpeechError('overloaded', message)

const countOf = (counts: ReadonlyMap<string, number>, key: string): number => counts.get(key) ?? 0

const addTo = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const count = countOf(counts, key) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
