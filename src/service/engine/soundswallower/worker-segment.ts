import type { Word } from '../../../protocol/session-event.js'
import type { Shelf } from './decoder-shelf.js'
import type { SegmentDecoder } from './segment-decoder.js'

/** What a segment says while it is decoded. */
export interface SegmentAnswer {
  readonly taken: (sampleCount: number, partial: string | undefined) => void
  readonly decided: (words: readonly Word[]) => void
  readonly failed: () => void
}

/** The part of a decoder that a segment uses. */
export type Decoding = Pick<SegmentDecoder, 'begin' | 'hear' | 'end' | 'cancel'>

/**
 * One segment in its worker, from its decoder's loan to its return. What it is told is done in order, each step after
 * the one before; an abort overtakes. It says nothing after an abort or a failure.
 */
export class WorkerSegment {
  private state: 'running' | 'aborted' | 'failed' = 'running'
  private decoder: Decoding | undefined
  private work: Promise<void>

  constructor(
    private readonly startMs: number,
    private readonly decoders: Pick<Shelf<Decoding>, 'take' | 'give' | 'discard'>,
    private readonly answer: SegmentAnswer,
  ) {
    this.work = this.open().catch((error: unknown) => this.fail(error))
  }

  hear(samples: Int16Array): void {
    this.next((decoder) => this.answer.taken(samples.length, decoder.hear(samples)))
  }

  close(endMs: number): void {
    this.next(async (decoder) => {
      const words = await decoder.end(this.startMs, endMs, () => this.state !== 'running')
      this.decoder = undefined
      this.decoders.give(decoder)
      if (this.state === 'running') this.answer.decided(words)
    })
  }

  abort(): void {
    if (this.state === 'running') this.state = 'aborted'
    this.work = this.work.then(() => this.giveBack()).catch((error: unknown) => this.fail(error))
  }

  private async open(): Promise<void> {
    this.decoder = await this.decoders.take()
    await this.decoder.begin()
  }

  private next(step: (decoder: Decoding) => void | Promise<void>): void {
    const run = async (): Promise<void> => {
      if (this.state === 'running' && this.decoder !== undefined) await step(this.decoder)
    }
    this.work = this.work.then(run).catch((error: unknown) => this.fail(error))
  }

  private giveBack(): void {
    const { decoder } = this
    if (decoder === undefined) return
    decoder.cancel()
    this.decoder = undefined
    this.decoders.give(decoder)
  }

  /** A decoder that threw is not used again. A trap leaves the memory of all decoders in doubt: the worker ends. */
  private async fail(error: unknown): Promise<void> {
    if (error instanceof WebAssembly.RuntimeError) {
      setImmediate(() => {
        throw error
      })
    }
    this.decoder = undefined
    if (this.state === 'running') this.answer.failed()
    this.state = 'failed'
    await this.decoders.discard()
  }
}
