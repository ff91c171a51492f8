import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { RecognizeSettings, SegmentText } from '../engine.js'
import type { ResourcePool } from './resource-pool.js'

/** Times are in milliseconds since the session's first sample. `isCut` is that of the part `close`. */
export interface SegmentSpan {
  readonly startMs: number
  readonly endMs: number
  readonly isCut: boolean
}

/** `text` is absent if it consists of the words. */
export interface DecodedSegment {
  readonly words: readonly Word[]
  readonly text?: SegmentText | undefined
}

/** A decoder, which decodes one segment after another. One that throws or rejects is not used again. */
export interface SegmentDecoder {
  /** Whether a segment with these settings costs it no preparation. @default true */
  isReadyFor?(settings: RecognizeSettings): boolean
  /** Begins a segment of a session with these settings. */
  begin(settings: RecognizeSettings): Promise<void>
  /** Decodes a frame. Returns the text so far if it changed. */
  process(samples: Int16Array): string | undefined | Promise<string | undefined>
  /** Whether the best reading so far is a complete sentence that cannot continue. @default false */
  isComplete?(): boolean
  /** Ends the segment and returns its result, which is not used if `isCancelled` returns true by then. */
  end(span: SegmentSpan, isCancelled: () => boolean): Promise<DecodedSegment>
  /** Abandons the segment; another `begin` may follow. */
  cancel(): void | Promise<void>
}

/** Receives the progress and the result of a segment. Nothing but `broke` follows an abort or a failure. */
export interface LeasedSegmentListener {
  readonly progress: (sampleCount: number, partial: string | undefined) => void
  readonly checked: (isComplete: boolean) => void
  readonly decided: (result: DecodedSegment) => void
  readonly failed: (error: unknown) => void
  /** Called with everything that a decoder throws, also for an aborted segment. */
  readonly broke?: ((error: unknown) => void) | undefined
}

/**
 * A segment that leases a decoder, from its `begin` until its result. The steps of the segment are done one after
 * another; an abort is done first, and at once if the segment waits for a decoder.
 */
export class LeasedSegment<D extends SegmentDecoder> {
  readonly #startMs: number
  readonly #decoders: ResourcePool<D>
  readonly #listener: LeasedSegmentListener
  readonly #settings: RecognizeSettings
  readonly #abort = new AbortController()
  #state: 'running' | 'aborted' | 'failed' = 'running'
  #decoder: D | undefined
  #steps: Promise<void>

  constructor(
    startMs: number,
    decoders: ResourcePool<D>,
    listener: LeasedSegmentListener,
    settings: RecognizeSettings = {},
  ) {
    this.#settings = settings
    this.#startMs = startMs
    this.#decoders = decoders
    this.#listener = listener
    this.#steps = this.#begin().catch((error: unknown) => this.#fail(error))
  }

  /** The samples are kept until they are decoded. */
  write(samples: Int16Array): void {
    this.#addStep(async (decoder) => {
      const partial = await decoder.process(samples)
      if (this.#isRunning()) this.#listener.progress(samples.length, partial)
    })
  }

  check(): void {
    this.#addStep((decoder) => {
      this.#listener.checked(decoder.isComplete?.() ?? false)
      return Promise.resolve()
    })
  }

  close(endMs: number, isCut = false): void {
    this.#addStep(async (decoder) => {
      const result = await decoder.end({ startMs: this.#startMs, endMs, isCut }, () => !this.#isRunning())
      this.#release(decoder)
      if (this.#isRunning()) this.#listener.decided(result)
    })
  }

  abort(): void {
    if (this.#state === 'running') this.#state = 'aborted'
    this.#abort.abort()
    this.#steps = this.#steps.then(() => this.#cancel()).catch((error: unknown) => this.#fail(error))
  }

  #isRunning(): boolean {
    return this.#state === 'running'
  }

  async #begin(): Promise<void> {
    const settings = this.#settings
    const isReady = (decoder: D): boolean => decoder.isReadyFor?.(settings) ?? true
    this.#decoder = await this.#decoders.acquire(this.#abort.signal, isReady)
    await this.#decoder.begin(settings)
  }

  #addStep(step: (decoder: D) => Promise<void>): void {
    const run = async (): Promise<void> => {
      if (this.#isRunning() && this.#decoder !== undefined) await step(this.#decoder)
    }
    this.#steps = this.#steps.then(run).catch((error: unknown) => this.#fail(error))
  }

  async #cancel(): Promise<void> {
    const decoder = this.#decoder
    if (decoder === undefined) return
    await decoder.cancel()
    this.#release(decoder)
  }

  #release(decoder: D): void {
    this.#decoder = undefined
    this.#decoders.release(decoder)
  }

  #fail(error: unknown): void {
    const decoder = this.#decoder
    this.#decoder = undefined
    if (decoder !== undefined) this.#decoders.discard(decoder)
    this.#listener.broke?.(error)
    if (this.#state === 'running') {
      this.#state = 'failed'
      this.#listener.failed(error)
    }
  }
}
