/** Audio to read: some of a part, with `lead` samples before it and others behind it for the recognizer alone. */
export interface AudioAround {
  readonly samples: Int16Array
  readonly lead: number
}

/** The audio of a segment that is not decided, with true audio before it and, once it has ended, behind it. */
export class PartAudio {
  readonly #context: number
  /** What precedes the part, the part, and what follows it. */
  #data: Int16Array
  #begin: number
  #end: number
  #after = 0

  /** @param context how many samples around it are used */
  constructor(before: Int16Array | undefined, context: number) {
    this.#context = context
    this.#data = before?.slice(-context) ?? new Int16Array(0)
    if (context === 0) this.#data = new Int16Array(0)
    this.#begin = this.#data.length
    this.#end = this.#begin
  }

  /** Of the part, in samples. */
  get length(): number {
    return this.#end - this.#begin
  }

  append(samples: Int16Array): void {
    this.#write(samples)
    this.#end += samples.length
  }

  /** Nothing is appended any more. */
  finish(after: Int16Array | undefined): void {
    if (after === undefined || this.#context === 0) return
    const used = after.subarray(0, this.#context)
    this.#write(used)
    this.#after = used.length
  }

  /** The samples `[from, to)` of the part, with what is around them. */
  around(from: number, to: number): AudioAround {
    const first = Math.max(this.#begin + from - this.#context, 0)
    const last = Math.min(this.#begin + to + this.#context, this.#end + this.#after)
    return { samples: this.#data.slice(first, last), lead: this.#begin + from - first }
  }

  /** The samples up to `end` are decided; the part begins there. */
  drop(end: number): void {
    const first = Math.max(this.#begin + end - this.#context, 0)
    this.#data = this.#data.slice(first, this.#end + this.#after)
    this.#begin += end - first
    this.#end -= first
  }

  #write(samples: Int16Array): void {
    const needed = this.#end + samples.length
    if (needed > this.#data.length) {
      const grown = new Int16Array(Math.max(needed, Math.ceil(1.5 * this.#data.length)))
      grown.set(this.#data.subarray(0, this.#end))
      this.#data = grown
    }
    this.#data.set(samples, this.#end)
  }
}
