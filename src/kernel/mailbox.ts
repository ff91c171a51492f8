/**
 * Handles items one after another. An item that is posted while another one is handled waits for its turn, so a handler
 * never runs inside itself and always sees a consistent state.
 */
export class Mailbox<Item> {
  readonly #handle: (item: Item) => void
  readonly #onEmpty: (() => void) | undefined
  /** Only while items wait: an array that has held items keeps room for more. */
  #waiting: Item[] | undefined
  #isBusy = false

  /**
   * Calls `onEmpty` after each run of items. When `handle` throws, `post` throws the error, and the waiting items are
   * handled with the next one.
   */
  constructor(handle: (item: Item) => void, onEmpty?: () => void) {
    this.#handle = handle
    this.#onEmpty = onEmpty
  }

  /** Whether an item is being handled. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  post(item: Item): void {
    if (this.#isBusy || this.#waiting !== undefined) (this.#waiting ??= []).push(item)
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      if (this.#waiting === undefined) this.#handle(item)
      this.#handleWaiting()
    } finally {
      this.#isBusy = false
    }
    this.#onEmpty?.()
  }

  /** Discards the waiting items. */
  clear(): void {
    this.#waiting = undefined
  }

  #handleWaiting(): void {
    while (this.#waiting !== undefined) {
      const item = this.#waiting.shift() as Item
      if (this.#waiting.length === 0) this.#waiting = undefined
      this.#handle(item)
    }
  }
}
