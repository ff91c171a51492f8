import { asyncScheduler, type Observable, type SchedulerLike, type Subscription } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import { Inbox } from '../inbox.js'
import { resolveLimits, type LinkLimits } from '../limits.js'
import type { CloseReason, DataflowMessage, Link } from '../link.js'
import { Room } from '../room.js'

export interface GrpcLinkOptions extends LinkLimits {
  /** The clock of the time-outs. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

export type CallReason = CloseReason

/** What a link needs of a call, at either end. */
export interface MessageStream {
  readonly readableLength: number
  on(event: 'data', listener: (message: DataflowMessage) => void): unknown
  write(message: DataflowMessage, taken: () => void): unknown
  pause(): unknown
  resume(): unknown
}

export const resolveGrpcLimits = (options: GrpcLinkOptions): Required<GrpcLinkOptions> => ({
  ...resolveLimits(options),
  scheduler: options.scheduler ?? asyncScheduler,
})

/** Beside its two contents a message takes a few bytes of tags and lengths; they don't count. */
const messageBytes = ({ content, binaryContent }: DataflowMessage): number => content.length + binaryContent.byteLength

/** The link over one gRPC call: what is equal at both ends. */
export abstract class GrpcLink implements Link<DataflowMessage, DataflowMessage> {
  protected state: 'open' | 'finished' | 'closing' | 'ended' = 'open'
  protected readonly inbox: Inbox<DataflowMessage>
  private readonly outlet: Room
  /** Sizes of the messages that were written and not taken, from `firstSize` to `sizeCount`: they are taken in order. */
  private sizes: number[] = []
  private firstSize = 0
  private sizeCount = 0
  private untakenBytes = 0
  private readonly taken = (): void => this.countTaken()
  private readingStopped = false
  private allTaken: (() => void) | undefined
  private abortTimer: Subscription | undefined

  constructor(
    private readonly stream: MessageStream,
    private readonly limits: Required<GrpcLinkOptions>,
  ) {
    this.inbox = new Inbox(Math.max(limits.highWaterMarkBytes, limits.maxMessageBytes), () => this.steerReading())
    this.outlet = new Room(() => this.untakenBytes, limits)
    stream.on('data', (message) => {
      if (this.state !== 'closing') this.inbox.push(message, messageBytes(message))
    })
  }

  get incoming(): Observable<DataflowMessage> {
    return this.inbox.incoming
  }

  get room(): Observable<void> {
    return this.outlet.room
  }

  get bufferedBytes(): number {
    return this.untakenBytes
  }

  get congested(): boolean {
    return this.outlet.congested
  }

  send(message: DataflowMessage): void {
    if (this.state !== 'open') return
    const sizeBytes = messageBytes(message)
    this.sizes[this.sizeCount] = sizeBytes
    this.sizeCount += 1
    this.untakenBytes += sizeBytes
    this.stream.write(message, this.taken)
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
    this.outlet.end()
    // What still arrives is dropped, but it has to be read for the end behind it.
    this.stream.resume()
    this.abortTimer = this.limits.scheduler.schedule(() => this.abortCall(), this.limits.closeTimeoutMs)
    this.endCall(reason)
  }

  /** Ends the call after everything that was written; `undefined` is good order. */
  protected abstract endCall(reason: CallReason | undefined): void

  /** Ends the call now, whatever is under way. */
  protected abstract abortCall(): void

  /** The peer says nothing more; this end may go on. */
  protected peerFinished(): void {
    this.inbox.finish()
  }

  /** The call is over; everything that arrived is delivered before its end. */
  protected callOver(error: SpeechError | undefined): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    this.abortTimer?.unsubscribe()
    this.sizes = []
    this.firstSize = 0
    this.sizeCount = 0
    this.untakenBytes = 0
    this.inbox.finish(error)
    this.outlet.end()
  }

  /** Calls back when the transport has taken all that was sent. */
  protected whenTaken(then: () => void): void {
    if (this.untakenBytes === 0) then()
    else this.allTaken = then
  }

  private countTaken(): void {
    if (this.state === 'ended') return
    this.untakenBytes -= this.sizes[this.firstSize] ?? 0
    this.firstSize += 1
    if (this.firstSize === this.sizeCount) {
      this.firstSize = 0
      this.sizeCount = 0
    } else if (this.firstSize === 1024) {
      this.sizes = this.sizes.slice(1024)
      this.firstSize = 0
      this.sizeCount -= 1024
    }
    this.outlet.update()
    if (this.untakenBytes > 0 || this.allTaken === undefined) return
    const then = this.allTaken
    this.allTaken = undefined
    then()
  }

  /** Whether the call should not be read on now. */
  protected get shouldStopReading(): boolean {
    return this.inbox.isFull
  }

  private steerReading(): void {
    if (this.state === 'closing' || this.readingStopped === this.shouldStopReading) return
    this.readingStopped = this.shouldStopReading
    if (this.readingStopped) this.stream.pause()
    else this.stream.resume()
  }
}
