import { type SchedulerLike, type Unsubscribable } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'

/** A worker as the watchdog sees it. */
export interface WatchedWorker {
  /** What the worker is expected to send: an `answer` while it has work, a `start` while it loads. */
  readonly awaited: () => 'answer' | 'start' | 'nothing'
  /** Called when the worker was silent for too long. The watchdog has removed it. */
  readonly hung: () => void
}

export interface WorkerWatchdogOptions {
  /** How long a worker that has work may be silent, in milliseconds. */
  readonly answerWithinMs: number
  /** How long a worker may load, in milliseconds. */
  readonly startWithinMs: number
  readonly scheduler: SchedulerLike
}

/** How many checks there are within `answerWithinMs`. */
const checksPerDeadline = 4

/**
 * Detects workers that hang. While an answer or start is awaited from any worker, it checks all of them several times
 * per deadline and counts the checks during which each was silent. It counts checks instead of time, so that a long
 * block of this thread counts as one check and ends no worker.
 */
export class WorkerWatchdog {
  readonly #options: WorkerWatchdogOptions
  readonly #silentChecks = new Map<WatchedWorker, number>()
  #timer: Unsubscribable | undefined

  constructor(options: WorkerWatchdogOptions) {
    this.#options = options
  }

  add(worker: WatchedWorker): void {
    this.#silentChecks.set(worker, 0)
    this.wake()
  }

  remove(worker: WatchedWorker): void {
    this.#silentChecks.delete(worker)
    if (this.#silentChecks.size === 0) this.stop()
  }

  /** The worker has sent a message. */
  responded(worker: WatchedWorker): void {
    if (this.#silentChecks.has(worker)) this.#silentChecks.set(worker, 0)
  }

  /** Must be called when an answer becomes awaited: checks run until nothing is awaited. */
  wake(): void {
    if (this.#timer !== undefined) return
    const { scheduler, answerWithinMs } = this.#options
    const check = (): void => {
      this.#timer = undefined
      this.#check()
    }
    this.#timer = schedule(scheduler, answerWithinMs / checksPerDeadline, check, { ref: true })
  }

  /** Stops the checks if nothing is awaited. */
  stopIfIdle(): void {
    if ([...this.#silentChecks.keys()].every((worker) => worker.awaited() === 'nothing')) this.stop()
  }

  stop(): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
  }

  #check(): void {
    const { answerWithinMs, startWithinMs } = this.#options
    for (const [worker, silentChecks] of [...this.#silentChecks]) {
      const awaited = worker.awaited()
      if (awaited === 'nothing') {
        this.#silentChecks.set(worker, 0)
        continue
      }
      this.wake()
      const deadlineMs = awaited === 'answer' ? answerWithinMs : startWithinMs
      if (silentChecks < Math.ceil((checksPerDeadline * deadlineMs) / answerWithinMs)) {
        this.#silentChecks.set(worker, silentChecks + 1)
      } else {
        this.remove(worker)
        worker.hung()
      }
    }
  }
}
