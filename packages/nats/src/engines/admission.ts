import { refusalOf, Refusals, type Refusing } from 'rxspeech-server/sessions/refusals'
import { reserveOf } from 'rxspeech-server/sessions/tenant-shares'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** Sessions start below this share of used places. */
const maxUse = 0.9
/** The use is a mean of this time, because places are held only during speech. */
const windowMs = 5_000
const minRetryMs = 2_000
const maxRetryMs = 10_000

interface Sample {
  readonly atMs: number
  readonly used: number
  /** Of the engines that are not behind. */
  readonly capacity: number
}

/** The places of an engine. */
export interface EnginePlaces {
  readonly used: number
  readonly capacity: number
  /** Whether it is behind its speakers, so that no session can count on its places. @default false */
  readonly isBehind?: boolean | undefined
}

/** The places of engines in total. */
export const capacityOf = (engines: readonly Pick<EnginePlaces, 'capacity'>[]): number =>
  engines.reduce((total, { capacity }) => total + capacity, 0)

/**
 * Decides whether the engines of one model can take another session. A session that has just started is in the mean
 * only later, so it counts as one place at first, and as less and less for as long as the mean looks back.
 */
export class Admission {
  readonly #now: () => number
  readonly #random: () => number
  readonly #refusals: Refusals
  #samples: readonly Sample[] = []
  #startedAtMs: readonly number[] = []
  #hasEngines = false

  constructor(
    now: () => number,
    random: () => number = Math.random,
    onRefusing: (refusing: Refusing) => void = () => undefined,
  ) {
    this.#now = now
    this.#random = random
    this.#refusals = new Refusals(now, onRefusing)
  }

  /** Takes in the use of the serving engines; call it whenever it may have changed, at least each tick. */
  sample(engines: readonly EnginePlaces[]): void {
    const atMs = this.#now()
    const used = engines.reduce((total, engine) => total + engine.used, 0)
    const sample = { atMs, used, capacity: capacityOf(engines.filter(({ isBehind }) => isBehind !== true)) }
    this.#hasEngines = capacityOf(engines) > 0
    this.#samples = [...this.#samples.filter((one) => one.atMs > atMs - windowMs), sample]
    this.#refusals.tick()
  }

  /** The places of sessions that have just started, as far as they are not in the mean. */
  get started(): number {
    const atMs = this.#now()
    this.#startedAtMs = this.#startedAtMs.filter((startedMs) => startedMs > atMs - windowMs)
    return this.#startedAtMs.reduce((sum, startedMs) => sum + 1 - (atMs - startedMs) / windowMs, 0)
  }

  /**
   * Counts a session. Throws `overloaded` with `retryAfterMs` if the engines have no room for it, or if there are none.
   *
   * @param startedElsewhere `started` of other models of the same engines
   * @param reservePercent of the places that are for sessions, which stay free
   */
  admit(startedElsewhere = 0, reservePercent = 0): void {
    const atMs = this.#now()
    const capacity = this.#samples.at(-1)?.capacity ?? 0
    if (!this.#hasEngines) {
      throw this.#refuse('no engine process serves it', 'No engine for this model is running; try again later.')
    }
    const used = this.#meanUse(atMs) + this.started + startedElsewhere
    // A session is always possible when there is no other one, however small the engines are.
    const places = maxUse * capacity
    const room = places - reserveOf.places(places, reservePercent)
    if (capacity === 0 || (used > 0 && used + 1 > room)) {
      const reason =
        capacity === 0
          ? 'all of its engine processes are behind'
          : used + 1 > places
            ? 'too few places are free'
            : 'the last places are for tenants below their share'
      throw this.#refuse(reason, 'The engines for this model are too busy for another session; try again later.')
    }
    this.#startedAtMs = [...this.#startedAtMs, atMs]
  }

  /** The mean of the whole window; before the first sample as much was used as in it. */
  #meanUse(atMs: number): number {
    let sum = 0
    let fromMs = atMs - windowMs
    for (const [index, { used }] of this.#samples.entries()) {
      const untilMs = this.#samples[index + 1]?.atMs ?? atMs
      sum += used * (untilMs - fromMs)
      fromMs = untilMs
    }
    return sum / windowMs
  }

  /** With jitter, so that refused clients do not return together. */
  #refuse(reason: string, message: string): SpeechError {
    const retryAfterMs = Math.round(minRetryMs + this.#random() * (maxRetryMs - minRetryMs))
    const error = new SpeechError('overloaded', message, { retryAfterMs })
    return refusalOf(error, () => this.#refusals.refused({ reason }))
  }
}
