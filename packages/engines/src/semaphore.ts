export interface SemaphoreOptions {
  /** How many permits can be held at the same time. */
  readonly permits: number
  /**
   * How many of them can be held under one key, such as an address; those without a key only count in total. @default
   * Infinity
   */
  readonly permitsPerKey?: number | undefined
  /** How many callers of `run` can wait for a permit. @default 0 */
  readonly maxWaiting?: number | undefined
}

/** Returns a permit; further calls have no effect. */
export type Release = () => void

interface Waiting {
  readonly key: string
  readonly start: (release: Release) => void
}

/** Limits what runs at the same time, in total and per key. Waiting callers get permits in the order they came. */
export class Semaphore {
  readonly #permits: number
  readonly #permitsPerKey: number
  readonly #maxWaiting: number
  readonly #heldByKey = new Map<string, number>()
  readonly #waiting: Waiting[] = []
  #held = 0

  constructor({ permits, permitsPerKey = Infinity, maxWaiting = 0 }: SemaphoreOptions) {
    this.#permits = permits
    this.#permitsPerKey = permitsPerKey
    this.#maxWaiting = maxWaiting
  }

  /** How many permits are held. */
  get held(): number {
    return this.#held
  }

  /** Takes a permit, or returns undefined when none is free. */
  tryAcquire(key = ''): Release | undefined {
    return this.#isFree(key) ? this.#acquire(key) : undefined
  }

  /** Runs the work once it has a permit. Returns undefined when too many callers wait already. */
  run<T>(work: () => Promise<T>, key = ''): Promise<T> | undefined {
    const release = this.tryAcquire(key)
    if (release !== undefined) return runAndRelease(work, release)
    if (this.#waiting.length >= this.#maxWaiting) return undefined
    return new Promise<Release>((start) => this.#waiting.push({ key, start })).then((acquired) =>
      runAndRelease(work, acquired),
    )
  }

  /** Waits for a permit, however many do. Rejects with the reason of the signal if that is aborted before. */
  acquire(signal: AbortSignal, key = ''): Promise<Release> {
    const release = this.tryAcquire(key)
    if (release !== undefined) return Promise.resolve(release)
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal.reason as Error)
      }
      const waiting: Waiting = {
        key,
        start: (acquired) => {
          signal.removeEventListener('abort', leave)
          resolve(acquired)
        },
      }
      if (signal.aborted) {
        reject(signal.reason as Error)
        return
      }
      this.#waiting.push(waiting)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #isFree(key: string): boolean {
    return this.#held < this.#permits && (key === '' || (this.#heldByKey.get(key) ?? 0) < this.#permitsPerKey)
  }

  #acquire(key: string): Release {
    this.#held += 1
    this.#heldByKey.set(key, (this.#heldByKey.get(key) ?? 0) + 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#release(key)
    }
  }

  #release(key: string): void {
    this.#held -= 1
    const left = (this.#heldByKey.get(key) ?? 1) - 1
    if (left > 0) this.#heldByKey.set(key, left)
    else this.#heldByKey.delete(key)
    const next = this.#waiting.findIndex((waiting) => this.#isFree(waiting.key))
    const [first] = next < 0 ? [] : this.#waiting.splice(next, 1)
    first?.start(this.#acquire(first.key))
  }
}

const runAndRelease = async <T>(work: () => Promise<T>, release: Release): Promise<T> => {
  try {
    return await work()
  } finally {
    release()
  }
}
