import { Observable, Subject } from 'rxjs'
import type { Bucket, BucketEntry, BucketEvent, BucketState } from '../../src/identity/bucket.js'

/** A bucket in memory, whose servers and watches can fail. */
export class FakeBucket implements Bucket {
  readonly name = 'fake'
  readonly entries = new Map<string, BucketEntry>()
  readonly #changes$ = new Subject<BucketEntry>()
  readonly #breaks$ = new Subject<Error>()
  createdAt = 'first'
  revision = 0
  /** How often all entries were read. */
  readings = 0
  /** Whether the servers answer. */
  isReachable = true
  /** Whether watches deliver changes. */
  isSilent = false
  /** Whether the server of the next readings delivers nothing. */
  isStalled = false
  /** Keys that the server of the next readings lacks; their watches get changes of them. */
  readonly lagging = new Set<string>()
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

  /** Loses a change that was confirmed, so that its revision is given again. */
  lose(key: string, earlier?: BucketEntry): void {
    if (earlier === undefined) this.entries.delete(key)
    else this.entries.set(key, earlier)
    this.revision -= 1
  }

  readonly watch = (): Observable<BucketEvent> =>
    new Observable((subscriber) => {
      this.readings += 1
      if (this.isStalled) return
      subscriber.add(this.#breaks$.subscribe((error) => subscriber.error(error)))
      subscriber.add(this.#changes$.subscribe(subscriber))
      const first = [...this.entries.values()].toSorted((a, b) => a.revision - b.revision)
      for (const entry of first) if (!this.lagging.has(entry.key)) subscriber.next(entry)
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
