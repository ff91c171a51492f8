import { Observable, type SchedulerLike, type Subscriber, type Subscription } from 'rxjs'

/** How often a platform that says nothing is asked, in milliseconds, and only while somebody waits. */
const pollMs = 20

/** The sending half that every link shares: who waits for room, and when there is some. */
export class Room {
  /** See `Link.room`. */
  readonly room: Observable<void>

  private waiting: Subscriber<void>[] = []
  private ended = false
  private poll: Subscription | undefined

  /**
   * @param bufferedBytes what the transport has not taken yet, now
   * @param pollBy given where the transport does not tell when it took something: then it is asked by this scheduler
   */
  constructor(
    private readonly bufferedBytes: () => number,
    private readonly limits: { readonly highWaterMarkBytes: number; readonly lowWaterMarkBytes: number },
    private readonly pollBy?: SchedulerLike,
  ) {
    this.room = new Observable((subscriber) => this.wait(subscriber))
  }

  get congested(): boolean {
    return !this.ended && this.bufferedBytes() > this.limits.highWaterMarkBytes
  }

  /** The transport took something. */
  update(): void {
    if (this.waiting.length > 0 && (this.ended || this.bufferedBytes() <= this.limits.lowWaterMarkBytes)) this.release()
  }

  /** The link ended: whoever waits goes on. */
  end(): void {
    this.ended = true
    this.update()
  }

  private wait(subscriber: Subscriber<void>): void {
    this.waiting.push(subscriber)
    subscriber.add(() => {
      this.waiting = this.waiting.filter((one) => one !== subscriber)
      if (this.waiting.length === 0) this.stopPolling()
    })
    this.update()
    if (this.pollBy !== undefined && this.poll === undefined && this.waiting.length > 0) {
      this.pollLater(this.pollBy)
    }
  }

  private pollLater(scheduler: SchedulerLike): void {
    this.poll = scheduler.schedule(() => {
      this.update()
      if (this.waiting.length > 0) this.pollLater(scheduler)
    }, pollMs)
  }

  private release(): void {
    const waiting = this.waiting
    this.waiting = []
    this.stopPolling()
    for (const subscriber of waiting) {
      subscriber.next()
      subscriber.complete()
    }
  }

  private stopPolling(): void {
    this.poll?.unsubscribe()
    this.poll = undefined
  }
}
