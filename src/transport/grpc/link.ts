import { asyncScheduler, type Observable, type SchedulerLike, type Subscription } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import { Inbox } from '../inbox.js'
import { schedulerValue } from '../../protocol/validation.js'
import { linkLimitCodecs, resolveLimits, type LinkLimits, type Resolved } from '../limits.js'
import type { CloseReason, DataflowMessage, Link } from '../link.js'
import { DrainSignal } from '../drain.js'

export interface GrpcLinkOptions extends LinkLimits {
  /** The clock of the time-outs. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

export type CallReason = CloseReason

/** The members of a call that a link uses, at either end. */
export interface MessageStream {
  readonly readableLength: number
  on(event: 'data', listener: (message: DataflowMessage) => void): unknown
  write(message: DataflowMessage, taken: () => void): unknown
  pause(): unknown
  resume(): unknown
}

/** The codecs of the options of a link. */
export const grpcLinkCodecs = { ...linkLimitCodecs, scheduler: schedulerValue }

/** Fills in the defaults of checked options. Throws `invalid-options` for water marks that do not fit together. */
export const resolveGrpcLimits = (options: GrpcLinkOptions): Resolved<GrpcLinkOptions> => {
  const { maxMessageBytes, highWaterMarkBytes, lowWaterMarkBytes, closeTimeoutMs } = resolveLimits(options)
  const { scheduler = asyncScheduler } = options
  return { maxMessageBytes, highWaterMarkBytes, lowWaterMarkBytes, closeTimeoutMs, scheduler }
}

/** Without the few bytes of tags and lengths. */
const messageBytes = ({ content, binaryContent }: DataflowMessage): number => content.length + binaryContent.byteLength

/** The link over one gRPC call: the part that both ends share. */
export abstract class GrpcLink implements Link<DataflowMessage, DataflowMessage> {
  protected state: 'open' | 'finished' | 'closing' | 'ended' = 'open'
  protected readonly inbox: Inbox<DataflowMessage>
  readonly #drain: DrainSignal
  /** Sizes of written messages that the transport has not taken, from `#firstSize` to `#sizeCount`, in order. */
  #sizes: number[] = []
  #firstSize = 0
  #sizeCount = 0
  #untakenBytes = 0
  readonly #onTaken = (): void => this.#countTaken()
  #isReadPaused = false
  #onAllTaken: (() => void) | undefined
  #abortTimer: Subscription | undefined

  readonly #stream: MessageStream
  readonly #limits: Resolved<GrpcLinkOptions>

  constructor(stream: MessageStream, limits: Resolved<GrpcLinkOptions>) {
    this.#stream = stream
    this.#limits = limits
    this.inbox = new Inbox(Math.max(limits.highWaterMarkBytes, limits.maxMessageBytes), () => this.#steerReading())
    this.#drain = new DrainSignal(() => this.#untakenBytes, limits)
    stream.on('data', (message) => this.receive(message))
  }

  get incoming$(): Observable<DataflowMessage> {
    return this.inbox.incoming$
  }

  get drain$(): Observable<void> {
    return this.#drain.drain$
  }

  get bufferedBytes(): number {
    return this.#untakenBytes
  }

  get isCongested(): boolean {
    return this.#drain.isCongested
  }

  send(message: DataflowMessage): void {
    if (this.state !== 'open') return
    const sizeBytes = messageBytes(message)
    this.#sizes[this.#sizeCount] = sizeBytes
    this.#sizeCount += 1
    this.#untakenBytes += sizeBytes
    this.#stream.write(message, this.#onTaken)
  }

  pause(): void {
    this.inbox.pause()
  }

  resume(): void {
    this.inbox.resume()
  }

  abstract finish(): void

  close(reason?: CallReason): void {
    if (this.state !== 'open' && this.state !== 'finished') return
    this.state = 'closing'
    this.inbox.discard()
    this.#drain.end()
    // Messages that still arrive are dropped, but have to be read to reach the end after them.
    this.#stream.resume()
    this.#abortTimer = this.#limits.scheduler.schedule(() => this.abortCall(), this.#limits.closeTimeoutMs)
    this.endCall(reason)
  }

  /** Ends the call after all written messages; without a reason the end is normal. */
  protected abstract endCall(reason: CallReason | undefined): void

  /** Ends the call now, without waiting for messages in flight. */
  protected abstract abortCall(): void

  protected receive(message: DataflowMessage): void {
    if (this.state !== 'closing') this.inbox.push(message, messageBytes(message))
  }

  /** The peer half-closed; this end can still send. */
  protected peerFinished(): void {
    this.inbox.finish()
  }

  /** The call is over; all messages that arrived are delivered before its end. */
  protected callOver(error: SpeechError | undefined): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    this.#abortTimer?.unsubscribe()
    this.#sizes = []
    this.#firstSize = 0
    this.#sizeCount = 0
    this.#untakenBytes = 0
    this.inbox.finish(error)
    this.#drain.end()
  }

  /** Calls back when the transport has taken all messages. */
  protected whenTaken(callback: () => void): void {
    if (this.#untakenBytes === 0) callback()
    else this.#onAllTaken = callback
  }

  #countTaken(): void {
    if (this.state === 'ended') return
    this.#untakenBytes -= this.#sizes[this.#firstSize] ?? 0
    this.#firstSize += 1
    if (this.#firstSize === this.#sizeCount) {
      this.#firstSize = 0
      this.#sizeCount = 0
    } else if (this.#firstSize === 1024) {
      this.#sizes = this.#sizes.slice(1024)
      this.#firstSize = 0
      this.#sizeCount -= 1024
    }
    this.#drain.update()
    if (this.#untakenBytes > 0 || this.#onAllTaken === undefined) return
    const callback = this.#onAllTaken
    this.#onAllTaken = undefined
    callback()
  }

  /** Whether reading from the call should pause now. */
  protected get shouldPauseReading(): boolean {
    return this.inbox.isFull
  }

  #steerReading(): void {
    if (this.state === 'closing' || this.#isReadPaused === this.shouldPauseReading) return
    this.#isReadPaused = this.shouldPauseReading
    if (this.#isReadPaused) this.#stream.pause()
    else this.#stream.resume()
  }
}
