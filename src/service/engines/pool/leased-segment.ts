import type { Word } from '../../../protocol/session-event.js'
import type { Shelf } from './resource-pool.js'

/** What a segment says while it is decoded. */
export interface SegmentAnswer {
  readonly taken: (sampleCount: number, partial: string | undefined) => void
  readonly decided: (words: readonly Word[]) => void
  readonly failed: (error: unknown) => void
  /** Whatever was thrown; said also of a segment that was aborted. */
  readonly broke?: (error: unknown) => void
}

/** A decoder of one segment after the other. One that threw or rejected is not used again. */
export interface Decoding {
  begin(): Promise<void>
  /** Reads one hop; gives the text so far when it changed. */
  hear(samples: Int16Array): string | undefined | Promise<string | undefined>
  /** Ends the segment and gives its words; what it gives is not used once `isCancelled` says true. */
  end(startMs: number, endMs: number, isCancelled: () => boolean): Promise<readonly Word[]>
  /** Leaves the segment as it is; `begin` may follow. */
  cancel(): void | Promise<void>
}

/**
 * One segment, from its decoder's loan to its return. What it is told is done in order, each step after the one
 * before; an abort overtakes, and leaves the line at once where it waits for a decoder. It says nothing after an
 * abort or a failure.
 */
export class LentSegment<D extends Decoding = Decoding> {
  private state: 'running' | 'aborted' | 'failed' = 'running'
  private decoder: D | undefined
  private readonly leaving = new AbortController()
  private work: Promise<void>

  constructor(
    private readonly startMs: number,
    private readonly decoders: Pick<Shelf<D>, 'take' | 'give' | 'discard'>,
    private readonly answer: SegmentAnswer,
  ) {
    this.work = this.open().catch((error: unknown) => this.fail(error))
  }

  /** The samples are kept until they are read. */
  hear(samples: Int16Array): void {
    this.next(async (decoder) => {
      const partial = await decoder.hear(samples)
      if (this.isRunning()) this.answer.taken(samples.length, partial)
    })
  }

  close(endMs: number): void {
    this.next(async (decoder) => {
      const words = await decoder.end(this.startMs, endMs, () => !this.isRunning())
      this.decoder = undefined
      this.decoders.give(decoder)
      if (this.isRunning()) this.answer.decided(words)
    })
  }

  abort(): void {
    if (this.state === 'running') this.state = 'aborted'
    this.leaving.abort()
    this.work = this.work.then(() => this.giveBack()).catch((error: unknown) => this.fail(error))
  }

  private isRunning(): boolean {
    return this.state === 'running'
  }

  private async open(): Promise<void> {
    this.decoder = await this.decoders.take(this.leaving.signal)
    await this.decoder.begin()
  }

  private next(step: (decoder: D) => Promise<void>): void {
    const run = async (): Promise<void> => {
      if (this.isRunning() && this.decoder !== undefined) await step(this.decoder)
    }
    this.work = this.work.then(run).catch((error: unknown) => this.fail(error))
  }

  private async giveBack(): Promise<void> {
    const { decoder } = this
    if (decoder === undefined) return
    await decoder.cancel()
    this.decoder = undefined
    this.decoders.give(decoder)
  }

  private fail(error: unknown): void {
    if (this.decoder !== undefined) {
      this.decoder = undefined
      this.decoders.discard()
    }
    this.answer.broke?.(error)
    if (this.state === 'running') {
      this.state = 'failed'
      this.answer.failed(error)
    }
  }
}
