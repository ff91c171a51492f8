import { Observable, type SchedulerLike, type Subscriber, type Subscription } from 'rxjs'
import type { LinkLimits } from './limits.js'

/** How often a platform that says nothing is asked, in milliseconds, and only while somebody waits. */
const pollMs = 20

type WaterMarks = Pick<Required<LinkLimits>, 'highWaterMarkBytes' | 'lowWaterMarkBytes'>

/** The sending half that every link shares: who waits for room, and when there is some. */
export class Room {
  readonly #bufferedBytes: () => number
  readonly #limits: WaterMarks
  readonly #pollBy: SchedulerLike | undefined
  #waiting: Subscriber<void>[] = []
  #ended = false
  #poll: Subscription | undefined

  /**
   * @param bufferedBytes what the transport has not taken yet, now
   * @param pollBy given where the transport does not tell when it took something: then it is asked by this scheduler
   */
  constructor(bufferedBytes: () => number, limits: WaterMarks, pollBy?: SchedulerLike) {
    this.#bufferedBytes = bufferedBytes
    this.#limits = limits
    this.#pollBy = pollBy
  }

  /** See `Link.room`. */
  get room(): Observable<void> {
    return new Observable((subscriber) => this.#wait(subscriber))
  }

  get congested(): boolean {
    return !this.#ended && this.#bufferedBytes() > this.#limits.highWaterMarkBytes
  }

  /** The transport took something. */
  update(): void {
    if (this.#waiting.length > 0 && (this.#ended || this.#bufferedBytes() <= this.#limits.lowWaterMarkBytes))
      this.#release()
  }

  /** The link ended: whoever waits goes on. */
  end(): void {
    this.#ended = true
    this.update()
  }

  #wait(subscriber: Subscriber<void>): void {
    this.#waiting.push(subscriber)
    subscriber.add(() => {
      this.#waiting = this.#waiting.filter((one) => one !== subscriber)
      if (this.#waiting.length === 0) this.#stopPolling()
    })
    this.update()
    if (this.#pollBy !== undefined && this.#poll === undefined && this.#waiting.length > 0) {
      this.#pollLater(this.#pollBy)
    }
  }

  #pollLater(scheduler: SchedulerLike): void {
    this.#poll = scheduler.schedule(() => {
      this.update()
      if (this.#waiting.length > 0) this.#pollLater(scheduler)
    }, pollMs)
  }

  #release(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#stopPolling()
    for (const subscriber of waiting) {
      subscriber.next()
      subscriber.complete()
    }
  }

  #stopPolling(): void {
    this.#poll?.unsubscribe()
    this.#poll = undefined
  }
}
