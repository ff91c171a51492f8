/** Counts what is held of something of which there is only so much. */
export class Places {
  readonly #most: number
  #held = 0

  constructor(most: number) {
    this.#most = most
  }

  /** How to give a place back, which may be called again without harm; undefined where all are held. */
  take(): (() => void) | undefined {
    if (this.#held >= this.#most) return undefined
    this.#held += 1
    let held = true
    return () => {
      if (held) this.#held -= 1
      held = false
    }
  }
}
