/** How long a success counts after its last repetition. */
const lifetimeMs = 86_400_000
const maxSuccesses = 10_000

/** What succeeded within a day, by its key, in bounded memory: beyond the limit the oldest success is removed. */
export class RecentSuccesses<Value = true> {
  readonly #successes = new Map<string, { readonly value: Value; readonly untilMs: number }>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get(key: string): Value | undefined {
    const success = this.#successes.get(key)
    return success !== undefined && success.untilMs > this.#now() ? success.value : undefined
  }

  set(key: string, value: Value): void {
    // Removed and added again, so that the insertion order is that of the last success.
    this.#successes.delete(key)
    this.#successes.set(key, { value, untilMs: this.#now() + lifetimeMs })
    const [oldest] = this.#successes.keys()
    if (this.#successes.size > maxSuccesses && oldest !== undefined) this.#successes.delete(oldest)
  }
}
