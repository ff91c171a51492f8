import type { Pausable } from './pause-counter.js'

/**
 * Handles messages one after another, in order, though handling one may take a while: until then the link is paused
 * and what is still in flight waits. Bounded by what a paused link still delivers.
 */
export class SerialQueue<In> {
  readonly #link: Pausable
  readonly #handle: (message: In) => Promise<void> | undefined
  readonly #failed: (error: unknown) => void
  #waiting: In[] = []
  #busy = false

  /** `failed` is told of whatever `handle` throws or rejects with; the line goes on with the next message. */
  constructor(link: Pausable, handle: (message: In) => Promise<void> | undefined, failed: (error: unknown) => void) {
    this.#link = link
    this.#handle = handle
    this.#failed = failed
  }

  /** Handles the message at once, or when those before it are done; one that comes from within `handle` waits, too. */
  push(message: In): void {
    this.#waiting.push(message)
    this.#work()
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting = []
  }

  #work(): void {
    while (!this.#busy) {
      const message = this.#waiting.shift()
      if (message === undefined) return
      this.#busy = true
      const pending = this.#begin(message)
      if (pending === undefined) this.#busy = false
      else {
        this.#link.pause()
        pending.then(this.#done, (error: unknown) => {
          this.#failed(error)
          this.#done()
        })
      }
    }
  }

  #begin(message: In): Promise<void> | undefined {
    try {
      return this.#handle(message)
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  /** What waits here came before what the link holds. */
  readonly #done = (): void => {
    this.#busy = false
    this.#work()
    if (!this.#busy) this.#link.resume()
  }
}
