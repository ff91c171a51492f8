/** Decides when the words of a channel have ended: after much audio without a word. */
export class UtteranceEnd {
  readonly #silenceMs: number
  #lastWordEndMs: number | undefined
  #isSpeaking = false
  /** Speech has ended, and its definitive text has not come yet. */
  #isPending = false

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** The utterance continues. */
  speechStarted(): void {
    this.#isSpeaking = true
  }

  speechEnded(): void {
    this.#isSpeaking = false
    this.#isPending = true
  }

  /** A definitive text has come, with words up to a time, or without any. */
  final(lastWordEndMs: number | undefined): void {
    this.#isPending = false
    this.#lastWordEndMs = lastWordEndMs ?? this.#lastWordEndMs
  }

  /** The client asked for the definitive text of all speech so far, which has come. */
  finalized(lastWordEndMs: number | undefined): void {
    this.#isSpeaking = false
    this.final(lastWordEndMs)
  }

  /** The end of the last word, once for each of them, if there was no speech behind it up to this position. */
  due(positionMs: number): number | undefined {
    const lastMs = this.#lastWordEndMs
    const isOpen = this.#isSpeaking || this.#isPending
    if (lastMs === undefined || isOpen || positionMs - lastMs < this.#silenceMs) return undefined
    this.#lastWordEndMs = undefined
    return lastMs
  }
}
