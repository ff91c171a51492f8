export interface ResourcePoolOptions<T> {
  /** How many resources there are at most. */
  readonly max: number
  readonly create: () => Promise<T>
  /** Called for a resource that is discarded, and for all when the pool is closed. @default nothing is done */
  readonly destroy?: ((resource: T) => Promise<void> | void) | undefined
}

interface Waiting<T> {
  readonly resolve: (resource: T) => void
  readonly reject: (error: unknown) => void
}

/** Resources that are expensive to create, such as decoders. One holder uses one at a time; others wait in order. */
export class ResourcePool<T> {
  readonly #options: ResourcePoolOptions<T>
  readonly #all = new Set<T>()
  readonly #free: T[] = []
  readonly #creating = new Set<Promise<T>>()
  /** A set, so that one that leaves is removed without a search. */
  readonly #waiting = new Set<Waiting<T>>()
  #isClosed = false

  constructor(options: ResourcePoolOptions<T>) {
    this.#options = options
  }

  /** Adds a resource that was created elsewhere. */
  add(resource: T): void {
    this.#all.add(resource)
    this.release(resource)
  }

  /**
   * Resolves with a free resource, with a new one, or, if `max` are in use, with the next that is released. Rejects if
   * none can be created, and if the signal is aborted while it waits. Of the free ones it is the last that was
   * released, of those that are preferred; if none of them is, the one that was not used for the longest time.
   */
  acquire(signal?: AbortSignal, isPreferred: (resource: T) => boolean = () => true): Promise<T> {
    const [free] = this.#free.splice(Math.max(this.#free.findLastIndex(isPreferred), 0), 1)
    if (free !== undefined) return Promise.resolve(free)
    return new Promise((resolve, reject) => {
      const waiting: Waiting<T> = { resolve, reject }
      if (this.#all.size + this.#creating.size < this.#options.max) {
        this.#createFor(waiting)
        return
      }
      this.#waiting.add(waiting)
      signal?.addEventListener('abort', () => {
        if (this.#waiting.delete(waiting)) reject(new Error('It waits no longer.'))
      })
    })
  }

  release(resource: T): void {
    const next = this.#takeWaiting()
    if (next === undefined) this.#free.push(resource)
    else next.resolve(resource)
  }

  /** Destroys a resource that is broken, and creates another if a request is waiting. */
  discard(resource: T): void {
    this.#all.delete(resource)
    void this.#options.destroy?.(resource)
    this.#createForNext()
  }

  /** Destroys all resources, also those that are in use or still created. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#creating)
    await Promise.all([...this.#all].map(async (resource) => this.#options.destroy?.(resource)))
  }

  #takeWaiting(): Waiting<T> | undefined {
    const [next] = this.#waiting
    if (next !== undefined) this.#waiting.delete(next)
    return next
  }

  #createForNext(): void {
    const next = this.#takeWaiting()
    if (next !== undefined) this.#createFor(next)
  }

  #createFor({ resolve, reject }: Waiting<T>): void {
    if (this.#isClosed) {
      reject(new Error('The pool is closed.'))
      return
    }
    const creating = this.#options.create()
    this.#creating.add(creating)
    creating.then(
      (resource) => {
        this.#creating.delete(creating)
        this.#all.add(resource)
        resolve(resource)
      },
      (error: unknown) => {
        this.#creating.delete(creating)
        reject(error)
        this.#createForNext()
      },
    )
  }
}
