/** Whoever can be told to wait: a link. */
export interface Pausable {
  pause(): void
  resume(): void
}

/**
 * Lets several parts pause one link, each for a reason of its own: the link is paused while any of them has one.
 * To pause, or to resume, twice is the same as once.
 */
export class PauseCounter {
  readonly #link: Pausable
  #count = 0

  constructor(link: Pausable) {
    this.#link = link
  }

  /** A part's own way to pause the link and to take that back. */
  reason(): Pausable {
    let held = false
    return {
      pause: () => {
        if (held) return
        held = true
        this.#count += 1
        if (this.#count === 1) this.#link.pause()
      },
      resume: () => {
        if (!held) return
        held = false
        this.#count -= 1
        if (this.#count === 0) this.#link.resume()
      },
    }
  }
}
