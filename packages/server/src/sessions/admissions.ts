import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** The maximum number of concurrent sessions. */
export interface AdmissionLimits {
  /** Of all clients. @default 200, in development 4000 */
  readonly sessions: number
  /** Of one tenant. @default 200, in development 4000 */
  readonly sessionsPerTenant: number
  /** With one token. @default 50, in development 4000 */
  readonly sessionsPerToken: number
}

/** Sessions by tenant and by token; none of them 0. */
export interface SessionCounts {
  readonly tenants: ReadonlyMap<string, number>
  readonly tokens: ReadonlyMap<string, number>
}

/** The sessions on other machines, which count towards the limits of tenants and tokens. */
export interface OtherCounts {
  ofTenant(tenant: string): number
  ofToken(tokenId: string): number
}

const alone: OtherCounts = { ofTenant: () => 0, ofToken: () => 0 }

/** Counts the running sessions. A session beyond a limit is refused at once, with an error that names the limit. */
export class Admissions {
  readonly #limits: AdmissionLimits
  readonly #others: OtherCounts
  readonly #byToken = new Map<string, number>()
  readonly #byTenant = new Map<string, number>()
  #all = 0

  constructor(limits: AdmissionLimits, others: OtherCounts = alone) {
    this.#limits = limits
    this.#others = others
  }

  /** The sessions of this process. */
  get counts(): SessionCounts {
    return { tenants: this.#byTenant, tokens: this.#byToken }
  }

  /** Throws when the service is full. Call it before a token is verified, which costs more. */
  checkCapacity(): void {
    const { sessions } = this.#limits
    if (this.#all >= sessions) throw full(`The service has ${sessions} sessions, its limit; try again later.`)
  }

  /** Takes a slot and returns the function that releases it; further calls have no effect. */
  admit(tokenId: string, tenant: string): () => void {
    this.checkCapacity()
    const { sessionsPerToken, sessionsPerTenant } = this.#limits
    if (countOf(this.#byToken, tokenId) + this.#others.ofToken(tokenId) >= sessionsPerToken) {
      throw full(`The token has ${sessionsPerToken} sessions, its limit; end one or try again later.`)
    }
    if (countOf(this.#byTenant, tenant) + this.#others.ofTenant(tenant) >= sessionsPerTenant) {
      throw full(`The tenant has ${sessionsPerTenant} sessions, its limit; end one or try again later.`)
    }
    this.#add(tokenId, tenant, 1)
    let isHeld = true
    return () => {
      if (isHeld) this.#add(tokenId, tenant, -1)
      isHeld = false
    }
  }

  #add(tokenId: string, tenant: string, change: 1 | -1): void {
    this.#all += change
    addTo(this.#byToken, tokenId, change)
    addTo(this.#byTenant, tenant, change)
  }
}

const full = (message: string): SpeechError => new SpeechError('overloaded', message)

const countOf = (counts: ReadonlyMap<string, number>, key: string): number => counts.get(key) ?? 0

const addTo = (counts: Map<string, number>, key: string, change: 1 | -1): void => {
  const count = countOf(counts, key) + change
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}
