import { merge, mergeMap, Subject, Subscription } from 'rxjs'
import type { Job } from './job.js'

/** More recordings wait. */
const maxAtOnce = 2

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

  remove(job: Job): void {
    job.cancel()
    this.#all = this.#all.filter((other) => other !== job)
  }
}
