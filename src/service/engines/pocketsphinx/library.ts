import type { DecodedWord } from '../decoded-words.js'

/** A decoder of the library: an address with a meaning only for the library. */
export type DecoderPointer = object

/**
 * What is used of libpocketsphinx 5 (0.8+5prealpha, `libpocketsphinx.so.3`). Calls that take long run in a thread and return
 * a promise; a decoder takes one call at a time. `false` and `undefined` stand for the library's -1 and NULL, for which
 * it gives no reason.
 */
export interface SphinxLibrary {
  /** Settings by their names in the library, such as `hmm` and `samprate`. */
  createDecoder(settings: Readonly<Record<string, string>>): Promise<DecoderPointer | undefined>
  free(decoder: DecoderPointer): void
  isKnown(decoder: DecoderPointer, word: string): boolean
  /** `isLast` puts all words that were added into use. */
  addWord(decoder: DecoderPointer, word: string, phones: string, isLast: boolean): boolean
  setLanguageModel(decoder: DecoderPointer, path: string): Promise<boolean>
  setGrammar(decoder: DecoderPointer, jsgf: string): Promise<boolean>
  /** The mean cepstrum that the decoder subtracts now: the coloration by the line and the voice. */
  mean(decoder: DecoderPointer): Float32Array
  /** Begins an utterance with this mean, independent of those before. */
  begin(decoder: DecoderPointer, mean: Float32Array): boolean
  process(decoder: DecoderPointer, samples: Int16Array): Promise<boolean>
  /** The text so far, without silences and noises. */
  text(decoder: DecoderPointer): string
  end(decoder: DecoderPointer): Promise<boolean>
  /** The words with their posteriors after the end, including silences and noises. */
  words(decoder: DecoderPointer): Promise<readonly DecodedWord[]>
}

/**
 * Counts how long a number of threads have worked, by when calls begin and end. If there are more calls than threads, the
 * others wait, which does not count.
 */
export class ThreadTime {
  readonly #threads: number
  readonly #now: () => number
  #calls = 0
  #atMs: number
  #workedMs = 0

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(threads: number, now: () => number) {
    this.#threads = threads
    this.#now = now
    this.#atMs = now()
  }

  get workedMs(): number {
    this.#count()
    return this.#workedMs
  }

  /** Returns the result of the call, which counts from now until it settles. */
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
    const nowMs = this.#now()
    this.#workedMs += (nowMs - this.#atMs) * Math.min(this.#calls, this.#threads)
    this.#atMs = nowMs
  }
}

/** The same library, whose work on audio is counted. */
export const timedLibrary = (library: SphinxLibrary, time: ThreadTime): SphinxLibrary => ({
  ...library,
  process: (decoder, samples) => time.during(library.process(decoder, samples)),
  end: (decoder) => time.during(library.end(decoder)),
  words: (decoder) => time.during(library.words(decoder)),
})
