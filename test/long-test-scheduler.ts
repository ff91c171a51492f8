import { Subscription, VirtualAction, type SchedulerAction } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'

/**
 * A `TestScheduler` for long virtual times. In RxJS 7 an action that repeats, as in `interval`, adds each repetition as
 * a child of the one before, so that its cancellation after some thousand repetitions exceeds the stack, which is
 * caught, and costs seconds. Here a repeated action has one child.
 */
export class LongTestScheduler extends TestScheduler {
  override schedule<T>(
    work: (this: SchedulerAction<T>, state?: T) => void,
    delay?: number,
    state?: T,
  ): ReturnType<TestScheduler['schedule']> {
    return new RepeatedAction<T>(this, work).schedule(state, delay)
  }
}

class RepeatedAction<T> extends VirtualAction<T> {
  #first: RepeatedAction<T> = this

  override schedule(state?: T, delay = 0): Subscription {
    if (!Number.isFinite(delay)) return Subscription.EMPTY
    if (this.id === undefined) return super.schedule(state, delay)
    this.active = false
    const next = new RepeatedAction<T>(this.scheduler, this.work)
    next.#first = this.#first
    this.#first.remove(this)
    this.#first.add(next)
    return next.schedule(state, delay)
  }
}
