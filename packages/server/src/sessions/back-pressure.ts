/** A link, or anything else that can stop delivering for a while. */
export interface Pausable {
  pause(): void
  resume(): void
  /**
   * Whether a client that sends nothing has answered a ping since its last message; the first call sends it. Absent if
   * the transport has none.
   */
  readonly isAnswering?: (() => boolean) | undefined
}

/** Lets several parts pause one link independently: the link is paused while at least one of them requires it. */
export class PauseCounter {
  readonly #link: Pausable
  #count = 0

  constructor(link: Pausable) {
    this.#link = link
  }

  /** A handle for one part. Pausing or resuming it twice is the same as once. */
  reason(): Pausable {
    const link = this.#link
    let isHeld = false
    return {
      isAnswering: link.isAnswering === undefined ? undefined : () => link.isAnswering?.() === true,
      pause: () => {
        if (isHeld) return
        isHeld = true
        this.#count += 1
        if (this.#count === 1) link.pause()
      },
      resume: () => {
        if (!isHeld) return
        isHeld = false
        this.#count -= 1
        if (this.#count === 0) link.resume()
      },
    }
  }
}

/**
 * Bounds the received audio that is not consumed: above the bound the link is paused, and below half of it resumed, so
 * that the back-pressure of the network slows the client down.
 */
export class AudioBacklog {
  readonly #link: Pausable
  readonly #maxPending: number
  #pending = 0
  #isReleased = false
  #isHeldBack = false

  /** @param maxPending in samples */
  constructor(link: Pausable, maxPending: number) {
    this.#link = link
    this.#maxPending = maxPending
  }

  /** Counts received samples. */
  given(sampleCount: number): void {
    this.#pending += sampleCount
    if (this.#isReleased || this.#isHeldBack || this.#pending <= this.#maxPending) return
    this.#isHeldBack = true
    this.#link.pause()
  }

  /** Counts consumed samples. */
  taken(sampleCount: number): void {
    this.#pending -= sampleCount
    if (!this.#isHeldBack || this.#pending > this.#maxPending / 2) return
    this.#isHeldBack = false
    this.#link.resume()
  }

  /** Whether the link is paused until audio is consumed. */
  get isHeldBack(): boolean {
    return this.#isHeldBack
  }

  /** The audio has ended: resumes the link, and does not pause it again. */
  release(): void {
    this.#isReleased = true
    this.#link.resume()
  }

  /** Samples that were received and not consumed yet. */
  get pendingSamples(): number {
    return this.#pending
  }
}
