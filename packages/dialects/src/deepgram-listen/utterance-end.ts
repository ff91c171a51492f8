/** Decides when the words of a channel have ended: after much audio without a word. */
export class UtteranceEnd {
  readonly #silenceMs: number
  #lastWordEndMs: number | undefined
  #isSpeaking = false

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** The utterance continues. */
  speechStarted(): void {
    this.#isSpeaking = true
    this.#lastWordEndMs = undefined
  }

  speechEnded(): void {
    this.#isSpeaking = false
  }

  /** Words were recognized up to a time. */
  words(endMs: number): void {
    this.#lastWordEndMs = endMs
  }

  /** The end of the last word, once for each of them, if there was no speech behind it up to this position. */
  due(positionMs: number): number | undefined {
    const lastMs = this.#lastWordEndMs
    if (lastMs === undefined || this.#isSpeaking || positionMs - lastMs < this.#silenceMs) return undefined
    this.#lastWordEndMs = undefined
    return lastMs
  }
}
