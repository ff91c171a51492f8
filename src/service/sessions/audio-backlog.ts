import type { Pausable } from './pause-counter.js'

/**
 * Keeps the audio that was taken from a link, but not yet consumed by every channel, within a bound: above it the link
 * is paused, and below half of it resumed, so that a client is slowed by the network's own back-pressure.
 */
export class AudioBacklog {
  readonly #link: Pausable
  readonly #maxPending: number
  readonly #takenBy: number[]
  #given = 0
  #released = false
  #isHeldBack = false

  /** `maxPending` in samples of one channel. */
  constructor(link: Pausable, channels: number, maxPending: number) {
    this.#link = link
    this.#maxPending = maxPending
    this.#takenBy = new Array<number>(channels).fill(0)
  }

  /** So many samples of each channel came in. */
  given(sampleCount: number): void {
    this.#given += sampleCount
    if (this.#released || this.pendingSamples <= this.#maxPending) return
    this.#isHeldBack = true
    this.#link.pause()
  }

  /** A channel has consumed so many samples; `Infinity` when it wants no more, and nobody need wait for it. */
  taken(channel: number, sampleCount: number): void {
    this.#takenBy[channel] = (this.#takenBy[channel] ?? 0) + sampleCount
    if (this.pendingSamples > this.#maxPending / 2) return
    this.#isHeldBack = false
    this.#link.resume()
  }

  /** Whether the link is paused for audio to be consumed. */
  get isHeldBack(): boolean {
    return this.#isHeldBack
  }

  /** The audio's end, whatever became of it: the link is free again. */
  release(): void {
    this.#released = true
    this.#link.resume()
  }

  /** Of one channel, taken from the link and not consumed yet. */
  get pendingSamples(): number {
    return this.#given - Math.min(...this.#takenBy)
  }
}
