/** Counts what is held of something of which there is only so much, in all and for each key. */
export class Places {
  readonly #max: number
  readonly #maxPerKey: number
  readonly #heldByKey = new Map<string, number>()
  #held = 0

  constructor(max: number, maxPerKey: number) {
    this.#max = max
    this.#maxPerKey = maxPerKey
  }

  /** How to give a place back, which may be called again without harm; undefined where all are held. */
  take(key: string): (() => void) | undefined {
    const ofKey = this.#heldByKey.get(key) ?? 0
    if (this.#held >= this.#max || ofKey >= this.#maxPerKey) return undefined
    this.#held += 1
    this.#heldByKey.set(key, ofKey + 1)
    let isHeld = true
    return () => {
      if (isHeld) this.#giveBack(key)
      isHeld = false
    }
  }

  #giveBack(key: string): void {
    this.#held -= 1
    const left = (this.#heldByKey.get(key) ?? 1) - 1
    if (left > 0) this.#heldByKey.set(key, left)
    else this.#heldByKey.delete(key)
  }
}
