/** Things that are dear to make and are lent to one holder at a time, at most `limit` of them. */
export class Shelf<T> {
  private readonly free: T[] = []
  private readonly line: ((item: T) => void)[] = []
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

  /** The next free one, or a new one, or, when `limit` are out, the first that comes back. */
  async take(): Promise<T> {
    const item = this.free.pop()
    if (item !== undefined) return item
    if (this.made >= this.limit) return new Promise((resolve) => this.line.push(resolve))
    this.made += 1
    return this.make()
  }

  give(item: T): void {
    const next = this.line.shift()
    if (next === undefined) this.free.push(item)
    else next(item)
  }

  /** One that was taken is broken and does not come back; whoever waits gets another. */
  async discard(): Promise<void> {
    this.made -= 1
    if (this.line.length > 0) this.give(await this.take())
  }
}
