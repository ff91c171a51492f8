import type { SphinxLibrary } from './library.js'

/**
 * How long so many threads have worked, all together, by when calls begin and end: more calls than threads are in line,
 * and to wait is no work.
 */
export class ThreadTime {
  #calls = 0
  #atMs: number
  #workedMs = 0

  /** `now`: milliseconds that never run backwards. */
  constructor(
    private readonly threads: number,
    private readonly now: () => number,
  ) {
    this.#atMs = now()
  }

  get workedMs(): number {
    this.#count()
    return this.#workedMs
  }

  /** The call itself, counted from now until it settles. */
  async during<T>(call: Promise<T>): Promise<T> {
    this.#count()
    this.#calls += 1
    try {
      return await call
    } finally {
      this.#count()
      this.#calls -= 1
    }
  }

  #count(): void {
    const nowMs = this.now()
    this.#workedMs += (nowMs - this.#atMs) * Math.min(this.#calls, this.threads)
    this.#atMs = nowMs
  }
}

/** The library, whose work on audio is counted. */
export const timedLibrary = (library: SphinxLibrary, time: ThreadTime): SphinxLibrary => ({
  ...library,
  process: (decoder, samples) => time.during(library.process(decoder, samples)),
  end: (decoder) => time.during(library.end(decoder)),
  words: (decoder) => time.during(library.words(decoder)),
})
