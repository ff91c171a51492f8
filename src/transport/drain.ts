import { Observable, type SchedulerLike, type Subscriber, type Subscription } from 'rxjs'
import type { LinkLimits, Resolved } from './limits.js'

/** How often the buffered bytes of a platform without a callback are polled, only while a sender waits. */
const pollMs = 20

type WaterMarks = Pick<Resolved<LinkLimits>, 'highWaterMarkBytes' | 'lowWaterMarkBytes'>

/** The sending half that every link shares: when a sender has to wait, and when it can continue. */
export class DrainSignal {
  readonly #bufferedBytes: () => number
  readonly #limits: WaterMarks
  readonly #pollScheduler: SchedulerLike | undefined
  #waiting: Subscriber<void>[] = []
  #hasEnded = false
  #poll: Subscription | undefined

  /**
   * @param bufferedBytes returns the bytes that the transport has not taken yet
   * @param pollScheduler set where the transport does not call `update` when it takes something, so that it is polled
   */
  constructor(bufferedBytes: () => number, limits: WaterMarks, pollScheduler?: SchedulerLike) {
    this.#bufferedBytes = bufferedBytes
    this.#limits = limits
    this.#pollScheduler = pollScheduler
  }

  /** See `Link.drain$`. */
  get drain$(): Observable<void> {
    return new Observable((subscriber) => this.#wait(subscriber))
  }

  /** See `Link.isCongested`. */
  get isCongested(): boolean {
    return !this.#hasEnded && this.#bufferedBytes() > this.#limits.highWaterMarkBytes
  }

  /** Call it when the transport has taken something. */
  update(): void {
    if (this.#waiting.length > 0 && (this.#hasEnded || this.#bufferedBytes() <= this.#limits.lowWaterMarkBytes))
      this.#release()
  }

  /** Call it when the link ends; releases all senders. */
  end(): void {
    this.#hasEnded = true
    this.update()
  }

  #wait(subscriber: Subscriber<void>): void {
    this.#waiting.push(subscriber)
    subscriber.add(() => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== subscriber)
      if (this.#waiting.length === 0) this.#stopPolling()
    })
    this.update()
    if (this.#pollScheduler !== undefined && this.#poll === undefined && this.#waiting.length > 0) {
      this.#pollLater(this.#pollScheduler)
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
