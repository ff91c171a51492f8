import { SpeechError } from '../../../errors/speech-error.js'
import { Shelf } from '../pool/resource-pool.js'
import { HopCutter } from '../frame-cutter.js'
import { LentSegment, type SegmentAnswer } from '../pool/leased-segment.js'
import type { LaneSegment, SegmentListener } from '../channel-segments.js'
import { SegmentReading } from './segment-reading.js'
import type { SphinxDecoder } from './decoder.js'

const hopMs = 100

const broken = (cause?: unknown): SpeechError =>
  new SpeechError('engine-failed', 'The recognition engine stopped while it read; try again.', { cause })

/** A decoder on loan to one segment of a lane. */
class Loan {
  private reading: SegmentReading | undefined

  constructor(
    private readonly shelf: Shelf<SphinxDecoder>,
    private readonly drop: (decoder: SphinxDecoder) => void,
  ) {}

  async take(signal?: AbortSignal): Promise<SegmentReading> {
    this.reading = new SegmentReading(await this.shelf.take(signal))
    return this.reading
  }

  give(reading: SegmentReading): void {
    this.shelf.give(reading.decoder)
  }

  discard(): void {
    if (this.reading !== undefined) this.drop(this.reading.decoder)
    this.shelf.discard()
  }
}

const answerOf = (listener: SegmentListener): SegmentAnswer => ({
  taken: (sampleCount, partial) => listener.taken(sampleCount, partial),
  decided: (words) => listener.decided(words),
  failed: (error) => listener.failed(broken(error)),
})

/**
 * The decoders of one model: about 96 MB each, made when they are first needed, at most `limit`. A segment has one to
 * itself; more segments wait in line. One whose call failed is freed, and the next segment gets a new one.
 */
export class SphinxPool {
  private readonly decoders = new Set<SphinxDecoder>()
  private readonly shelf: Shelf<SphinxDecoder>
  private readonly making = new Set<Promise<unknown>>()
  private closed = false

  constructor(
    limit: number,
    private readonly sampleRateHz: number,
    private readonly make: () => Promise<SphinxDecoder>,
  ) {
    this.shelf = new Shelf(limit, () => this.makeOne())
  }

  /** Makes the first decoder; rejects with what is wrong with the model. */
  async warm(): Promise<void> {
    this.shelf.give(await this.shelf.take())
  }

  /** Opens a segment; its listener is called later, never before this returns. */
  open(startMs: number, listener: SegmentListener): LaneSegment {
    const loan = new Loan(this.shelf, (decoder) => this.drop(decoder))
    const segment = new LentSegment(startMs, loan, answerOf(listener))
    const hops = new HopCutter((this.sampleRateHz * hopMs) / 1000, (hop) => segment.hear(hop.slice()))
    return {
      write: (samples) => hops.write(samples),
      close: (endMs) => {
        hops.flush()
        segment.close(endMs)
      },
      abort: () => segment.abort(),
    }
  }

  /** Frees all decoders once their running calls are through. */
  async close(): Promise<void> {
    this.closed = true
    await Promise.allSettled(this.making)
    await Promise.all([...this.decoders].map((decoder) => decoder.free()))
  }

  private drop(decoder: SphinxDecoder): void {
    this.decoders.delete(decoder)
    void decoder.free()
  }

  private async makeOne(): Promise<SphinxDecoder> {
    if (this.closed) throw broken()
    const making = this.make()
    this.making.add(making)
    try {
      const decoder = await making
      this.decoders.add(decoder)
      return decoder
    } finally {
      this.making.delete(making)
    }
  }
}
