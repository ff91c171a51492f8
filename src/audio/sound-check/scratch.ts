/** Memory for the samples of one block, which all sessions share: it is used within one call. */
export class Scratch<Samples extends Int16Array | Uint8Array> {
  readonly #create: (length: number) => Samples
  #samples: Samples | undefined

  constructor(create: (length: number) => Samples) {
    this.#create = create
  }

  /** At least `length` samples of any value. */
  take(length: number): Samples {
    if (this.#samples === undefined || this.#samples.length < length) this.#samples = this.#create(length)
    return this.#samples
  }
}
