import type { Drops } from './wire-policy.js'

/** The account of what a wire drops: in episodes, each told when it begins and when it ends, and in all. */
export class DropEpisodes {
  #given = 0
  #untold = 0
  #episode: { dropped: number; readonly atCount: number } | undefined

  constructor(private readonly told: (drops: Drops) => void) {}

  /** Whether something was dropped lately. */
  get isOpen(): boolean {
    return this.#episode !== undefined
  }

  /** So much was offered. */
  given(count: number): void {
    this.#given += count
  }

  drop(count: number): void {
    this.#untold += count
    if (this.#episode !== undefined) {
      this.#episode.dropped += count
      return
    }
    this.#episode = { dropped: count, atCount: this.#given }
    this.told({ phase: 'begun', ...this.#episode })
  }

  end(): void {
    const episode = this.#episode
    this.#episode = undefined
    if (episode !== undefined) this.told({ phase: 'ended', ...episode })
  }

  /** What was dropped since this was last asked for. */
  takeLoss(): number {
    const count = this.#untold
    this.#untold = 0
    return count
  }
}
