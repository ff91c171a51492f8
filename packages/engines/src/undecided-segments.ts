import type { SegmentPart } from './engine.js'

const bytesPerSample = 2
/** Audio is replayed in parts of this length, about what engines get otherwise. */
const partSamples = 1600

/** A segment without a result, with the audio that the engine was given. */
class UndecidedSegment {
  open: Extract<SegmentPart, { readonly type: 'open' }>
  /** Undefined while it is open. */
  close: Extract<SegmentPart, { readonly type: 'close' }> | undefined
  /** Whether an answer to `check` is awaited. */
  isChecked = false
  readonly #maxSamples: number
  /** Undefined once the segment is too long to be kept. */
  #samples: Int16Array | undefined = new Int16Array(0)
  #sampleCount = 0

  constructor(open: Extract<SegmentPart, { readonly type: 'open' }>, maxSamples: number) {
    this.open = open
    this.#maxSamples = maxSamples
  }

  get sampleCount(): number {
    return this.#sampleCount
  }

  get isComplete(): boolean {
    return this.#samples !== undefined
  }

  get bytes(): number {
    const context = (this.open.before?.byteLength ?? 0) + (this.close?.after?.byteLength ?? 0)
    return context + (this.#samples?.byteLength ?? 0)
  }

  /**
   * The first samples have a result, which ends at `endMs`; the rest begins there, with the audio before it as context.
   */
  cut(sampleCount: number, endMs: number, contextSamples: number): void {
    const before = this.#samples?.slice(Math.max(sampleCount - contextSamples, 0), sampleCount)
    this.open = { ...this.open, startMs: endMs, ...(contextSamples > 0 && { before }) }
    this.#samples = this.#samples?.slice(sampleCount, this.#sampleCount)
    this.#sampleCount = Math.max(this.#sampleCount - sampleCount, 0)
  }

  /** How many bytes the segment would occupy with `sampleCount` more samples. */
  bytesWith(sampleCount: number): number {
    const added = this.#capacityWith(sampleCount) - (this.#samples?.length ?? 0)
    return this.bytes + bytesPerSample * added
  }

  #capacityWith(sampleCount: number): number {
    const needed = this.#sampleCount + sampleCount
    const capacity = this.#samples?.length ?? 0
    return needed <= capacity ? capacity : Math.max(needed, Math.min(2 * capacity, this.#maxSamples))
  }

  add(samples: Int16Array): void {
    if (this.#samples !== undefined) {
      const capacity = this.#capacityWith(samples.length)
      if (capacity > this.#samples.length) {
        const grown = new Int16Array(capacity)
        grown.set(this.#samples.subarray(0, this.#sampleCount))
        this.#samples = grown
      }
      this.#samples.set(samples, this.#sampleCount)
    }
    this.#sampleCount += samples.length
  }

  /** The segment is too long with these samples; what was kept of it is of no use. */
  drop(sampleCount: number): void {
    this.#samples = undefined
    this.#sampleCount += sampleCount
  }

  *parts(): Generator<SegmentPart> {
    const samples = this.#samples ?? new Int16Array(0)
    const sampleCount = this.#sampleCount
    yield this.open
    for (let at = 0; at < sampleCount; at += partSamples) {
      // A copy: an engine may keep what it gets, and a view would keep the memory of the whole segment.
      yield { type: 'audio', samples: samples.slice(at, Math.min(at + partSamples, sampleCount)) }
    }
    if (this.isChecked) yield { type: 'check' }
    if (this.close !== undefined) yield this.close
  }
}

/**
 * The segments of one channel without a result, oldest first, with their audio, so that they can be decoded again.
 * Their audio has a bound in bytes: the audio of a segment that would exceed it is dropped.
 */
export class UndecidedSegments {
  readonly #maxBytes: number
  readonly #contextSamples: number
  readonly #segments: UndecidedSegment[] = []

  /** @param contextSamples how much audio before the rest of a segment is part of its open */
  constructor(maxBytes: number, contextSamples = 0) {
    this.#maxBytes = maxBytes
    this.#contextSamples = contextSamples
  }

  add(part: SegmentPart): void {
    if (part.type === 'open') {
      this.#segments.push(new UndecidedSegment(part, Math.floor(this.#maxBytes / bytesPerSample)))
      return
    }
    const newest = this.#segments.at(-1)
    if (newest === undefined) return
    if (part.type === 'check') newest.isChecked = true
    else if (part.type === 'close') newest.close = part
    else if (this.#bytes - newest.bytes + newest.bytesWith(part.samples.length) > this.#maxBytes) {
      newest.drop(part.samples.length)
    } else newest.add(part.samples)
  }

  /** `check` was answered. Returns whether that was awaited. */
  answered(): boolean {
    const newest = this.#segments.at(-1)
    const wasAwaited = newest?.isChecked === true
    if (newest !== undefined) newest.isChecked = false
    return wasAwaited
  }

  /** Removes the oldest segment, which has a result. Returns how many samples it had. */
  removeOldest(): number {
    return this.#segments.shift()?.sampleCount ?? 0
  }

  /** The first samples of the oldest segment have a result, which ends at `endMs`. */
  cutOldest(sampleCount: number, endMs: number): void {
    this.#segments[0]?.cut(sampleCount, endMs, this.#contextSamples)
  }

  /** Where the oldest begins, in milliseconds since the session's first sample. */
  get startMs(): number | undefined {
    return this.#segments[0]?.open.startMs
  }

  /** Whether the audio of all segments is here. */
  get isComplete(): boolean {
    return this.#segments.every(({ isComplete }) => isComplete)
  }

  /** All parts since the oldest segment opened, in order. */
  *parts(): Generator<SegmentPart> {
    for (const segment of [...this.#segments]) yield* segment.parts()
  }

  get #bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }
}
