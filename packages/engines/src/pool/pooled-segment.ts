import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { EngineSegment, SegmentListener, SegmentText } from '../engine.js'
import { FrameCutter } from '../frame-cutter.js'
import type { SegmentMessage } from './worker-messages.js'

/** What a segment needs of its pool. */
export interface SegmentPool {
  /** The segment was aborted: it neither has nor needs a decoder. */
  readonly leave: (segment: PooledSegment) => void
  /** Called when an answer of the worker becomes awaited. */
  readonly awaiting: () => void
  readonly frameSamples: number
}

type State =
  | { readonly type: 'queued'; readonly messages: SegmentMessage[] }
  | { readonly type: 'running'; readonly post: (message: SegmentMessage) => void }
  | { readonly type: 'over' }

/**
 * A segment in a pool of workers. Its audio is cut into frames of one length, whatever the length of its chunks: the
 * result depends only on the samples, and several chunks make one message. While the segment is queued, its frames are
 * stored.
 */
export class PooledSegment implements EngineSegment {
  readonly id: number
  readonly #listener: SegmentListener
  readonly #pool: SegmentPool
  readonly #cutter: FrameCutter
  #state: State
  /** How many messages the worker has not answered. */
  #unanswered = 0

  constructor(open: Extract<SegmentMessage, { readonly type: 'open' }>, listener: SegmentListener, pool: SegmentPool) {
    this.id = open.segment
    this.#listener = listener
    this.#pool = pool
    this.#cutter = new FrameCutter(pool.frameSamples, (frame) => this.#sendFrame(frame))
    this.#state = { type: 'queued', messages: [open] }
  }

  /** Whether an answer of its worker to audio or to the end is awaited. */
  get isAwaited(): boolean {
    return this.#state.type === 'running' && this.#unanswered > 0
  }

  /** The segment has a decoder: sends the stored frames. */
  start(post: (message: SegmentMessage) => void): void {
    if (this.#state.type !== 'queued') return
    const { messages } = this.#state
    this.#state = { type: 'running', post }
    for (const message of messages) this.#send(message)
  }

  write(samples: Int16Array): void {
    this.#cutter.write(samples)
  }

  /**
   * Samples of an incomplete frame are not sent for it, so that frames and results are the same with and without it.
   */
  check(): void {
    this.#send({ type: 'check', segment: this.id })
  }

  close(endMs: number, isCut = false): void {
    this.#cutter.flush()
    this.#send({ type: 'close', segment: this.id, endMs, isCut })
  }

  abort(): void {
    if (this.#state.type === 'over') return
    if (this.#state.type === 'running') this.#state.post({ type: 'abort', segment: this.id })
    this.#state = { type: 'over' }
    this.#pool.leave(this)
  }

  progress(sampleCount: number, partial?: string, stableLength?: number): void {
    this.#unanswered -= 1
    if (this.#state.type !== 'over') this.#listener.progress(sampleCount, partial, stableLength)
  }

  checked(isComplete: boolean): void {
    this.#unanswered -= 1
    if (this.#state.type !== 'over') this.#listener.checked(isComplete)
  }

  decided(words: readonly Word[], text?: SegmentText): void {
    if (this.#end()) this.#listener.decided(words, text)
  }

  failed(error: SpeechError): void {
    if (this.#end()) this.#listener.failed(error)
  }

  #end(): boolean {
    const wasOver = this.#state.type === 'over'
    this.#state = { type: 'over' }
    return !wasOver
  }

  /** A message is copied on its way to a worker, so a frame's memory can be reused, unless the message is kept. */
  #sendFrame(frame: Int16Array): void {
    const isCopied = this.#state.type === 'running' && frame.length === this.#pool.frameSamples
    this.#send({ type: 'audio', segment: this.id, samples: isCopied ? frame : frame.slice() })
  }

  #send(message: SegmentMessage): void {
    if (this.#state.type === 'queued') this.#state.messages.push(message)
    if (this.#state.type !== 'running') return
    if (message.type === 'audio' || message.type === 'check' || message.type === 'close') {
      this.#unanswered += 1
      if (this.#unanswered === 1) this.#pool.awaiting()
    }
    this.#state.post(message)
  }
}
