import { SpeechError } from '../../errors/speech-error.js'

/** How many sessions may run at the same time. */
export interface AdmissionLimits {
  readonly sessions: number
  readonly sessionsPerToken: number
}

/** Counts the sessions that run. Past a limit the refusal is immediate and names it. */
export class Admissions {
  readonly #limits: AdmissionLimits
  readonly #byToken = new Map<string, number>()
  #all = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /** Takes a place, and returns how to give it back; that may be called again without harm. */
  admit(tokenId: string): () => void {
    const own = this.#byToken.get(tokenId) ?? 0
    if (this.#all >= this.#limits.sessions) {
      throw new SpeechError(
        'overloaded',
        `The service carries ${this.#limits.sessions} sessions, its limit; try again later.`,
      )
    }
    if (own >= this.#limits.sessionsPerToken) {
      throw new SpeechError('overloaded', `The token has ${own} sessions, its limit; end one or try again later.`)
    }
    this.#all += 1
    this.#byToken.set(tokenId, own + 1)
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#all -= 1
      const rest = (this.#byToken.get(tokenId) ?? 1) - 1
      if (rest === 0) this.#byToken.delete(tokenId)
      else this.#byToken.set(tokenId, rest)
    }
  }
}
