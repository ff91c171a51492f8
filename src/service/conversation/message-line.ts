import type { Pausable } from './audio-flow.js'

/**
 * Handles messages one after another, in order, though handling one may take a while: until then the link is paused
 * and what is still in flight waits. Bounded by what a paused link still delivers.
 */
export class MessageLine<In> {
  readonly #link: Pausable
  readonly #handle: (message: In) => Promise<void> | undefined
  #waiting: In[] = []
  #busy = false

  constructor(link: Pausable, handle: (message: In) => Promise<void> | undefined) {
    this.#link = link
    this.#handle = handle
  }

  push(message: In): void {
    if (this.#busy) this.#waiting.push(message)
    else this.#run(message)
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting = []
  }

  #run(message: In): void {
    const pending = this.#handle(message)
    if (pending === undefined) return
    this.#busy = true
    this.#link.pause()
    void pending.finally(() => {
      this.#busy = false
      this.#link.resume()
      while (!this.#busy && this.#waiting.length > 0) {
        const [next, ...rest] = this.#waiting as [In, ...In[]]
        this.#waiting = rest
        this.#run(next)
      }
    })
  }
}
