/** Handles items one after another: what arrives while one is handled waits for its turn. */
export class Mailbox<Item> {
  readonly #handle: (item: Item) => void
  readonly #whenEmpty: () => void
  readonly #waiting: Item[] = []
  #isBusy = false

  /** `handle` must not throw; `whenEmpty` is called after each run of items. */
  constructor(handle: (item: Item) => void, whenEmpty: () => void) {
    this.#handle = handle
    this.#whenEmpty = whenEmpty
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  post(item: Item): void {
    this.#waiting.push(item)
    if (this.#isBusy) return
    this.#isBusy = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) this.#handle(next)
    this.#isBusy = false
    this.#whenEmpty()
  }
}
