import type { SegmentAttempt, SegmentPart } from './engine.js'

const bytesPerSample = 2

/** A segment without a result, with the parts of audio that the engine was given, which are not copied. */
class UndecidedSegment {
  open: Extract<SegmentPart, { readonly type: 'open' }>
  /** How often it was begun. */
  attempt = 1
  /** Undefined while it is open. */
  close: Extract<SegmentPart, { readonly type: 'close' }> | undefined
  /** Whether an answer to `check` is awaited. */
  isChecked = false
  /** Undefined once the segment is too long to be kept. */
  #audio: Int16Array[] | undefined = []
  #sampleCount = 0

  constructor(open: Extract<SegmentPart, { readonly type: 'open' }>) {
    this.open = open
  }

  get sampleCount(): number {
    return this.#sampleCount
  }

  /** Not if it was too long, or if an engine has transferred the memory of a part, which has no samples then. */
  get isComplete(): boolean {
    return this.#audio?.reduce((sum, { length }) => sum + length, 0) === this.#sampleCount
  }

  get bytes(): number {
    const context = (this.open.before?.byteLength ?? 0) + (this.close?.after?.byteLength ?? 0)
    return context + (this.#audio === undefined ? 0 : bytesPerSample * this.#sampleCount)
  }

  /**
   * The first samples have a result, which ends at `endMs`; the rest begins there, with the audio before it as context.
   */
  cut(sampleCount: number, endMs: number, contextSamples: number): void {
    const before = this.#audio && joined(between(this.#audio, sampleCount - contextSamples, sampleCount))
    this.open = { ...this.open, startMs: endMs, ...(contextSamples > 0 && { before }) }
    this.#audio = this.#audio && between(this.#audio, sampleCount, Infinity)
    this.#sampleCount = Math.max(this.#sampleCount - sampleCount, 0)
  }

  add(samples: Int16Array): void {
    this.#audio?.push(samples)
    this.#sampleCount += samples.length
  }

  /** The segment is too long; what was kept of it is of no use. */
  drop(): void {
    this.#audio = undefined
  }

  /** All parts so far, for another attempt. */
  *parts(): Generator<SegmentPart> {
    this.attempt += 1
    yield { ...this.open, attempt: this.attempt }
    // A copy: while an engine is given these, more may be added.
    for (const samples of [...(this.#audio ?? [])]) yield { type: 'audio', samples }
    if (this.isChecked) yield { type: 'check' }
    if (this.close !== undefined) yield this.close
  }
}

/** The samples `[from, to)` of a list of parts, as views. */
const between = (parts: readonly Int16Array[], from: number, to: number): Int16Array[] => {
  let begin = 0
  // One that was transferred has no length, and no views either.
  const present = parts.filter(({ length }) => length > 0)
  return present.flatMap((part) => {
    const within = part.subarray(Math.max(from - begin, 0), Math.max(to - begin, 0))
    begin += part.length
    return within.length > 0 ? [within] : []
  })
}

const joined = (parts: readonly Int16Array[]): Int16Array => Int16Array.from(parts.flatMap((part) => [...part]))

/**
 * The segments of one channel without a result, oldest first, with their audio, so that they can be decoded again.
 * Their audio has a bound in bytes: the audio of a segment that exceeds it is dropped.
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
      this.#segments.push(new UndecidedSegment(part))
      return
    }
    const newest = this.#segments.at(-1)
    if (newest === undefined) return
    if (part.type === 'check') newest.isChecked = true
    else if (part.type === 'close') newest.close = part
    else {
      newest.add(part.samples)
      if (this.#bytes > this.#maxBytes) newest.drop()
    }
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

  /** The attempt of the oldest. */
  get oldest(): SegmentAttempt | undefined {
    const oldest = this.#segments[0]
    return oldest && { startMs: oldest.open.startMs, attempt: oldest.attempt }
  }

  /** Whether the audio of all segments is here. */
  get isComplete(): boolean {
    return this.#segments.every(({ isComplete }) => isComplete)
  }

  /** All parts since the oldest segment opened, in order, for another attempt. */
  *parts(): Generator<SegmentPart> {
    for (const segment of [...this.#segments]) yield* segment.parts()
  }

  get #bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }
}
