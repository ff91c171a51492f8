import type { Observable, ObservableInput, Subscription } from 'rxjs'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { isSpeechError, SpeechError, type SpeechErrorOptions } from 'rxspeech/internal/errors/speech-error'
import type { MilestoneEvent, PartialEvent, SessionEvent, Slots, Word } from 'rxspeech/internal/protocol/session-event'
import type { EngineSegment, SegmentListener } from '../engine.js'
import { FrameCutter } from '../frame-cutter.js'

/** A session with the other service, for the audio of one segment. */
export type OpenRecognition = (audio: ObservableInput<Uint8Array>) => Observable<SessionEvent>

/**
 * The other service failed. Its error is the cause, for the operator; clients learn that the engine failed, or that it
 * is overloaded and for how long.
 */
const remoteFailed = (cause: unknown): SpeechError => {
  if (!isSpeechError(cause)) return engineFailed({ cause })
  const { code, retryable, retryAfterMs } = cause
  const options = { cause, retryable, retryAfterMs }
  return code === 'overloaded'
    ? new SpeechError('overloaded', 'The recognition engine is overloaded; try again later.', options)
    : engineFailed(options)
}

const engineFailed = (options: SpeechErrorOptions): SpeechError =>
  new SpeechError('engine-failed', 'The remote recognition service failed; try again.', options)

const connectionLost = (): SpeechError =>
  new SpeechError('connection-lost', 'The other service ended before it took all audio.')

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ')

/**
 * One segment as one recognition of the other service. Samples count as processed when the connection has taken them.
 */
export class RemoteSegment implements EngineSegment {
  readonly #startMs: number
  readonly #listener: SegmentListener
  readonly #cutter: FrameCutter
  /** Frames that the connection has not taken, oldest first. The engine's caller bounds them by `progress`. */
  readonly #frames: Int16Array[] = []
  #wakeAudio: () => void = () => undefined
  #isAudioOver = false
  #isCut = false
  #isIncomplete = false
  #isOver = false
  #onOver: () => void = () => undefined
  #subscription: Subscription | undefined
  #milestones = ''
  /** Undefined after a milestone without words. */
  #words: readonly Word[] | undefined = []
  #slots: Slots | undefined
  #partial = ''
  #stableLength = 0

  /** @param startMs of the segment, in milliseconds since the session's first sample */
  constructor(startMs: number, listener: SegmentListener, frameSamples: number) {
    this.#startMs = startMs
    this.#listener = listener
    this.#cutter = new FrameCutter(frameSamples, (frame) => this.#pushFrame(frame.slice()))
  }

  /** Opens the recognition. Resolves when the segment is over, at once if it was aborted before. */
  run(open: OpenRecognition): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onOver = resolve
      this.#subscription = open(this.#audio()).subscribe({
        next: (event) => this.#receive(event),
        error: (error: unknown) => this.#fail(error),
        complete: () => this.#fail(new SpeechError('protocol-violation', 'The service ended without a final result.')),
      })
      if (this.#isOver) this.#subscription.unsubscribe()
    })
  }

  write(samples: Int16Array): void {
    if (!this.#isOver) this.#cutter.write(samples)
  }

  close(_endMs: number, isCut = false): void {
    this.#isCut = isCut
    this.#cutter.flush()
    this.#endAudio()
  }

  abort(): void {
    this.#end()
  }

  #pushFrame(frame: Int16Array): void {
    if (this.#isAudioOver) return
    this.#frames.push(frame)
    this.#wakeAudio()
  }

  #endAudio(): void {
    this.#isAudioOver = true
    this.#wakeAudio()
  }

  /** The client pulls a frame when the connection has room for it. */
  async *#audio(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const frame = this.#frames.shift()
      if (frame !== undefined) {
        if (!this.#isOver) this.#listener.progress(frame.length)
        yield bytesOf(frame)
      } else if (this.#isAudioOver) return
      else await new Promise<void>((resolve) => (this.#wakeAudio = resolve))
    }
  }

  #receive(event: SessionEvent): void {
    if (event.type === 'partial') this.#showPartial(event)
    else if (event.type === 'milestone') this.#keep(event)
    else if (event.type === 'final') this.#decide(event.error, event.confidence)
    // If the session failed, its error follows the gap that it causes.
    else if (event.type === 'gap' && event.cause !== 'failed') this.#fail(connectionLost())
  }

  #keep({ text, words = [], slots, isIncomplete }: MilestoneEvent): void {
    if (slots !== undefined) this.#slots = { ...this.#slots, ...slots }
    if (isIncomplete) this.#isIncomplete = true
    this.#milestones += text
    const isWhole = words.length > 0 || text.trim() === ''
    this.#words = isWhole ? this.#words?.concat(words) : undefined
  }

  /** The milestones of the other service do not change any more, so they belong to what is stable. */
  #showPartial({ text, stableLength = 0 }: PartialEvent): void {
    const partial = oneLine(`${this.#milestones} ${text}`)
    const stable = oneLine(`${this.#milestones} ${text.slice(0, stableLength)}`).length
    if (this.#isOver || (partial === this.#partial && stable === this.#stableLength)) return
    this.#partial = partial
    this.#stableLength = stable
    this.#listener.progress(0, partial, stable)
  }

  #decide(error: string | undefined, confidence: number | undefined): void {
    if (error !== undefined) this.#fail(refusalError(error))
    else if (this.#end()) {
      // The other service got a whole segment, which it cannot distinguish from one that was cut.
      const isRejected = this.#isIncomplete && !this.#isCut
      const text = isRejected ? '' : this.#milestones.trim()
      const words = this.#words?.map((word) => ({
        ...word,
        startMs: this.#startMs + word.startMs,
        endMs: this.#startMs + word.endMs,
      }))
      this.#listener.decided(isRejected ? [] : (words ?? []), {
        text,
        ...(confidence !== undefined && text !== '' && { confidence }),
        ...(this.#slots && !isRejected && { slots: this.#slots }),
        ...(this.#isIncomplete && { isIncomplete: true }),
      })
    }
  }

  #fail(error: unknown): void {
    if (this.#end()) queueMicrotask(() => this.#listener.failed(remoteFailed(error)))
  }

  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#endAudio()
    this.#subscription?.unsubscribe()
    this.#onOver()
    return true
  }
}
