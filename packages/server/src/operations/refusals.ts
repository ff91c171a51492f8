/** Sessions of a model are refused from now on, or no more. */
export type Refusing =
  { readonly phase: 'begun'; readonly reason: string } | { readonly phase: 'ended'; readonly refused: number }

/** Refusing has ended when no session was refused for this long, in milliseconds. */
const quietMs = 5_000

/** Reports when the refusing of sessions begins, with its first refusal, and when it ends. */
export class Refusals {
  readonly #now: () => number
  readonly #onRefusing: (refusing: Refusing) => void
  #refused = 0
  #lastMs = 0

  /** @param now the clock, in milliseconds */
  constructor(now: () => number, onRefusing: (refusing: Refusing) => void) {
    this.#now = now
    this.#onRefusing = onRefusing
  }

  /** A session was refused. */
  refused(reason: string): void {
    this.#refused += 1
    this.#lastMs = this.#now()
    if (this.#refused === 1) this.#onRefusing({ phase: 'begun', reason })
  }

  /** Call it at least once a second. */
  tick(): void {
    if (this.#refused === 0 || this.#now() - this.#lastMs < quietMs) return
    const refused = this.#refused
    this.#refused = 0
    this.#onRefusing({ phase: 'ended', refused })
  }
}
