import { type Subscription, type SchedulerLike } from 'rxjs'

/** A worker as its watch sees it. */
export interface Watched {
  /** Whether it has to say something: `now` where it has work, `start` while it loads. */
  readonly due: () => 'now' | 'start' | 'nothing'
  /** It said nothing for too long. */
  readonly hung: () => void
}

export interface WorkerWatchOptions {
  /** How long a worker that has work may say nothing, in milliseconds. */
  readonly answerWithinMs: number
  /** How long it may take to load, in milliseconds. */
  readonly startWithinMs: number
  readonly scheduler: SchedulerLike
}

/** So many looks within `answerWithinMs`. */
const looks = 4

/**
 * Notices workers that hang. While any is due, it looks at all of them a few times within `answerWithinMs`, and counts
 * how often each was silent. A count and no clock: when this thread itself stands still, that is one look and not many.
 */
export class WorkerWatch {
  private readonly silentLooks = new Map<Watched, number>()
  private timer: Subscription | undefined

  constructor(private readonly options: WorkerWatchOptions) {}

  /** From now on it is looked at. */
  add(watched: Watched): void {
    this.silentLooks.set(watched, 0)
    this.wake()
  }

  remove(watched: Watched): void {
    this.silentLooks.delete(watched)
    if (this.silentLooks.size === 0) this.stop()
  }

  /** It said something, or was idle until now. */
  heard(watched: Watched): void {
    if (this.silentLooks.has(watched)) this.silentLooks.set(watched, 0)
  }

  /** Something may be due now: looks, until nothing is any more. */
  wake(): void {
    if (this.timer !== undefined) return
    const { scheduler, answerWithinMs } = this.options
    this.timer = scheduler.schedule(() => {
      this.timer = undefined
      this.look()
    }, answerWithinMs / looks)
  }

  /** Stops looking where nothing is due. */
  rest(): void {
    if ([...this.silentLooks.keys()].every((watched) => watched.due() === 'nothing')) this.stop()
  }

  stop(): void {
    this.timer?.unsubscribe()
    this.timer = undefined
  }

  private look(): void {
    const { answerWithinMs, startWithinMs } = this.options
    for (const [watched, silent] of [...this.silentLooks]) {
      const due = watched.due()
      if (due === 'nothing') {
        this.silentLooks.set(watched, 0)
        continue
      }
      this.wake()
      const most = due === 'now' ? looks : Math.ceil((looks * startWithinMs) / answerWithinMs)
      if (silent < most) {
        this.silentLooks.set(watched, silent + 1)
      } else {
        this.remove(watched)
        watched.hung()
      }
    }
  }
}
