export interface QueueTerms {
  readonly maxEvents: number
  readonly maxBytes: number
  readonly dropNewest: boolean
  readonly batchEvents: number
  readonly batchBytes: number
}

interface Entry {
  readonly json: string
  readonly byteCount: number
}

/** Events as JSON that wait for their request; what does not fit is dropped and counted. */
export class WebhookQueue {
  readonly #terms: QueueTerms
  #entries: Entry[] = []
  /** Entries at the beginning that are gone already. */
  #gone = 0
  #bytes = 0

  constructor(terms: QueueTerms) {
    this.#terms = terms
  }

  get size(): number {
    return this.#entries.length - this.#gone
  }

  /** Whether a request could take no more. */
  get hasFullBatch(): boolean {
    return this.size >= this.#terms.batchEvents || this.#bytes >= this.#terms.batchBytes
  }

  /** Gives how many events were dropped for want of room. */
  add(json: string): number {
    const entry = { json, byteCount: Buffer.byteLength(json) }
    const { maxEvents, maxBytes, dropNewest } = this.#terms
    const fits = (): boolean => this.size < maxEvents && this.#bytes + entry.byteCount <= maxBytes
    if (entry.byteCount > maxBytes || (dropNewest && !fits())) return 1
    let dropped = 0
    while (!fits()) {
      this.#shift()
      dropped += 1
    }
    this.#entries.push(entry)
    this.#bytes += entry.byteCount
    return dropped
  }

  /** The next events, at least one where there is one. */
  take(): readonly string[] {
    const batch: string[] = []
    let bytes = 0
    while (batch.length < this.#terms.batchEvents) {
      const entry = this.#entries[this.#gone]
      if (entry === undefined || (batch.length > 0 && bytes + entry.byteCount > this.#terms.batchBytes)) break
      this.#shift()
      bytes += entry.byteCount
      batch.push(entry.json)
    }
    return batch
  }

  #shift(): void {
    this.#bytes -= this.#entries[this.#gone]?.byteCount ?? 0
    this.#gone += 1
    // Now and then, so that a long queue is not moved for every event.
    if (this.#gone < 1024 && this.#gone < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#gone)
    this.#gone = 0
  }
}
