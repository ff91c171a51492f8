import { Observable, Subject } from 'rxjs'
import type { Bucket, BucketEntry, BucketEvent, BucketState } from '../../../../src/service/identity/shared/bucket.js'

/** A bucket in memory, whose servers and watches can fail. */
export class FakeBucket implements Bucket {
  readonly name = 'fake'
  readonly entries = new Map<string, BucketEntry>()
  readonly #changes$ = new Subject<BucketEntry>()
  readonly #breaks$ = new Subject<Error>()
  createdAt = 'first'
  revision = 0
  /** The revisions after which entries were read. */
  readonly readAfter: number[] = []
  /** Whether the servers answer. */
  isReachable = true
  /** Whether watches deliver changes. */
  isSilent = false
  /** Called before each write, such as to be faster. */
  beforeWrite: () => void = () => undefined

  /** A change by another process. */
  set(key: string, value: string | undefined): number {
    this.revision += 1
    const entry = { key, value, revision: this.revision }
    this.entries.set(key, entry)
    if (!this.isSilent) this.#changes$.next(entry)
    return this.revision
  }

  breakWatches(): void {
    this.#breaks$.next(new Error('broken'))
  }

  /** As after a new start of servers that store nothing. */
  recreate(createdAt: string): void {
    this.entries.clear()
    this.revision = 0
    this.createdAt = createdAt
  }

  readonly state = (): Promise<BucketState> =>
    this.#answer(() => ({ createdAt: this.createdAt, revision: this.revision }))

  readonly watch = (afterRevision: number): Observable<BucketEvent> =>
    new Observable((subscriber) => {
      this.readAfter.push(afterRevision)
      subscriber.add(this.#breaks$.subscribe((error) => subscriber.error(error)))
      subscriber.add(this.#changes$.subscribe(subscriber))
      const first = [...this.entries.values()].toSorted((a, b) => a.revision - b.revision)
      for (const entry of first) if (entry.revision > afterRevision) subscriber.next(entry)
      subscriber.next('read')
    })

  readonly get = (key: string): Promise<BucketEntry | undefined> => this.#answer(() => this.entries.get(key))

  readonly write = (key: string, value: string, revision: number): Promise<number | 'conflict'> =>
    this.#answer(() => {
      this.beforeWrite()
      return (this.entries.get(key)?.revision ?? 0) === revision ? this.set(key, value) : 'conflict'
    })

  readonly forget = (keys: readonly string[]): Promise<void> =>
    this.#answer(() => {
      for (const key of keys) this.entries.delete(key)
    })

  #answer<T>(answer: () => T): Promise<T> {
    return this.isReachable ? Promise.resolve().then(answer) : Promise.reject(new Error('no answer'))
  }
}
