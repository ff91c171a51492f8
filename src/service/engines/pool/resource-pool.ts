interface Waiting<T> {
  readonly resolve: (item: T) => void
  readonly reject: (error: unknown) => void
}

/** Things that are dear to make and are lent to one holder at a time, at most `limit` of them. */
export class Shelf<T> {
  private readonly free: T[] = []
  /** In the order they came; a set, so that one who leaves is found without a search. */
  private readonly line = new Set<Waiting<T>>()
  private made = 0

  constructor(
    private readonly limit: number,
    private readonly make: () => Promise<T>,
  ) {}

  /** Puts one there that was made elsewhere. */
  add(item: T): void {
    this.made += 1
    this.give(item)
  }

  /**
   * The next free one, or a new one, or, when `limit` are out, the first that comes back. Rejects when none can be made,
   * and when the signal is aborted while it waits in line.
   */
  take(signal?: AbortSignal): Promise<T> {
    const item = this.free.pop()
    if (item !== undefined) return Promise.resolve(item)
    return new Promise((resolve, reject) => {
      const waiting: Waiting<T> = { resolve, reject }
      if (this.made < this.limit) {
        this.makeFor(waiting)
        return
      }
      this.line.add(waiting)
      signal?.addEventListener('abort', () => {
        if (this.line.delete(waiting)) reject(new Error('Left the line.'))
      })
    })
  }

  give(item: T): void {
    const next = this.first()
    if (next === undefined) this.free.push(item)
    else next.resolve(item)
  }

  /** One that was taken is broken and does not come back; whoever waits gets another. */
  discard(): void {
    this.made -= 1
    const next = this.first()
    if (next !== undefined) this.makeFor(next)
  }

  private first(): Waiting<T> | undefined {
    const [next] = this.line
    if (next !== undefined) this.line.delete(next)
    return next
  }

  private makeFor(waiting: Waiting<T>): void {
    this.made += 1
    this.make().then(waiting.resolve, (error: unknown) => {
      waiting.reject(error)
      this.discard()
    })
  }
}
