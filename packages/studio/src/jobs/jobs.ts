import { merge, mergeMap, Subject, Subscription } from 'rxjs'
import type { Job } from './job.js'

/** More recordings wait. */
const maxAtOnce = 2
/** Of sessions that the library has, so many of the newest stay in memory with their audio and figures. */
const maxKept = 5

/** The sessions of this page, the newest first. */
export class Jobs {
  readonly #queue$ = new Subject<Job>()
  readonly #now$ = new Subject<Job>()
  /** As long as the page. */
  readonly #running = new Subscription()
  #all: readonly Job[] = []

  constructor() {
    const queued$ = this.#queue$.pipe(mergeMap(({ run$ }) => run$, maxAtOnce))
    const now$ = this.#now$.pipe(mergeMap(({ run$ }) => run$))
    this.#running.add(merge(queued$, now$).subscribe())
  }

  get all(): readonly Job[] {
    return this.#all
  }

  /** What captures audio, or plays some, and therefore cannot wait. */
  get live(): Job | undefined {
    return this.#all.find(({ isUnfinished, origin }) => isUnfinished && origin !== 'file')
  }

  find(id: string): Job | undefined {
    return this.#all.find((job) => job.id === id)
  }

  /** A recording waits for its turn, everything else runs now. */
  add(job: Job): void {
    this.#all = [job, ...this.#all]
    if (job.origin === 'file') this.#queue$.next(job)
    else this.#now$.next(job)
  }

  /** Releases the oldest sessions that can be opened from the library again. */
  release(shown: Job | undefined): void {
    const old = new Set(this.#all.filter(({ isKept }) => isKept).slice(maxKept))
    this.#all = this.#all.filter((job) => job === shown || !old.has(job))
  }

  remove(job: Job): void {
    job.cancel()
    this.#all = this.#all.filter((other) => other !== job)
  }
}
