import type { SegmentPart } from './engine.js'

const bytesPerSample = 2
/** Audio goes out again in parts of this length, as an engine is used to. */
const partSamples = 1600

/** A segment that the engine has not decided yet, with the audio that it was given. */
class KeptSegment {
  endMs: number | undefined
  /** `undefined` once it was too long to be kept. */
  private samples: Int16Array | undefined = new Int16Array(0)
  private length = 0

  constructor(
    readonly startMs: number,
    private readonly mostSamples: number,
  ) {}

  get sampleCount(): number {
    return this.length
  }

  get isWhole(): boolean {
    return this.samples !== undefined
  }

  get bytes(): number {
    return this.samples?.byteLength ?? 0
  }

  /** What the segment would occupy with so many samples more. */
  bytesWith(sampleCount: number): number {
    const needed = this.length + sampleCount
    const room = this.samples?.length ?? 0
    return bytesPerSample * (needed <= room ? room : Math.max(needed, Math.min(2 * room, this.mostSamples)))
  }

  add(samples: Int16Array): void {
    if (this.samples !== undefined) {
      const room = this.bytesWith(samples.length) / bytesPerSample
      if (room > this.samples.length) {
        const wider = new Int16Array(room)
        wider.set(this.samples.subarray(0, this.length))
        this.samples = wider
      }
      this.samples.set(samples, this.length)
    }
    this.length += samples.length
  }

  /** It is too long: what was kept of it is of no use. */
  drop(sampleCount: number): void {
    this.samples = undefined
    this.length += sampleCount
  }

  *parts(): Generator<SegmentPart> {
    const { samples = new Int16Array(0), length } = this
    yield { type: 'open', startMs: this.startMs }
    for (let at = 0; at < length; at += partSamples) {
      // A copy, for whoever takes a part may keep it, and a view would keep all of the segment
      yield { type: 'audio', samples: samples.slice(at, Math.min(at + partSamples, length)) }
    }
    if (this.endMs !== undefined) yield { type: 'close', endMs: this.endMs }
  }
}

/**
 * The segments of one lane that are not decided yet, oldest first, within a bound in bytes. A segment that would go
 * beyond the bound is no longer kept; it counts until it is decided.
 */
export class KeptSegments {
  private readonly segments: KeptSegment[] = []

  constructor(private readonly maxBytes: number) {}

  add(part: SegmentPart): void {
    if (part.type === 'open') {
      this.segments.push(new KeptSegment(part.startMs, Math.floor(this.maxBytes / bytesPerSample)))
      return
    }
    const last = this.segments.at(-1)
    if (last === undefined) return
    if (part.type === 'close') last.endMs = part.endMs
    else if (this.bytes - last.bytes + last.bytesWith(part.samples.length) > this.maxBytes) {
      last.drop(part.samples.length)
    } else last.add(part.samples)
  }

  /** The oldest is decided. Returns how many samples it had. */
  decide(): number {
    return this.segments.shift()?.sampleCount ?? 0
  }

  /** Where the oldest begins, in milliseconds since the session's first sample. */
  get startMs(): number | undefined {
    return this.segments[0]?.startMs
  }

  /** Whether all of it can be given again. */
  get isWhole(): boolean {
    return this.segments.every(({ isWhole }) => isWhole)
  }

  /** All that was given since the oldest opened, in order. */
  parts(): readonly Generator<SegmentPart>[] {
    return this.segments.map((segment) => segment.parts())
  }

  private get bytes(): number {
    return this.segments.reduce((sum, segment) => sum + segment.bytes, 0)
  }
}
