import { asyncScheduler, exhaustMap, interval, merge, NEVER, type Observable, type SchedulerLike } from 'rxjs'
import { hasWords } from '../state/transcript.js'
import type { KeptSession } from './database.js'
import type { Edits } from './edits.js'
import { nothingStored, type LibraryStore, type PartOnDisk, type SessionContent } from './store.js'

export interface KeeperOptions {
  readonly store: LibraryStore
  /** The session as it is now. */
  readonly content: () => SessionContent | Promise<SessionContent>
  /** Gets each part of its files that is written while it runs, so that the page need not keep it in memory. */
  readonly movedToDisk: (part: PartOnDisk) => void
  /** What a person has changed of it before it was first written. */
  readonly edits: () => Edits
  /** Sessions that run in some tab, and are not removed to make room. */
  readonly isInUse: (id: string) => boolean
  /** Gets a sentence for a person. */
  readonly report: (sentence: string) => void
  /** Called after each write. */
  readonly written: () => void
  /** Emits when the page may be about to close. */
  readonly hidden$?: Observable<unknown>
  /** The clock of the writes. @default asyncScheduler */
  readonly scheduler?: SchedulerLike
}

/** How often a running session is written. */
const everyMs = 5000
/** A recording of a microphone is kept from this length, even without words. */
const minRecordingMs = 3000

/** Keeps a session while it runs, so that a tab that closes loses a few seconds at most. */
export class Keeper {
  readonly #options: KeeperOptions
  readonly #subscription
  #stored = nothingStored
  #written: SessionContent | undefined
  #writing: Promise<void> = Promise.resolve()
  #hasFiles = true
  #hasFailed = false

  constructor(options: KeeperOptions) {
    const { hidden$ = NEVER, scheduler = asyncScheduler } = options
    this.#options = options
    this.#subscription = merge(interval(everyMs, scheduler), hidden$)
      .pipe(exhaustMap(() => this.#write(false)))
      .subscribe()
  }

  /** Writes the session as it ended. Returns whether it is kept. */
  async end(): Promise<boolean> {
    this.#subscription.unsubscribe()
    await this.#write(true)
    return this.#stored.isKnown && !this.#hasFailed
  }

  /** Stops without a further write. */
  stop(): void {
    this.#subscription.unsubscribe()
  }

  /** One write after the other, because each continues after what the last one stored. */
  #write(hasEnded: boolean): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeNow(hasEnded))
    return this.#writing
  }

  async #writeNow(hasEnded: boolean): Promise<void> {
    if (this.#hasFailed) return
    const { store, content, movedToDisk, edits, isInUse, report, written } = this.#options
    try {
      const now = await content()
      if (!isWorthKeeping(now) || (!hasEnded && isSame(now, this.#written))) return
      const stored = await this.#inRoom(() =>
        store.write(this.#hasFiles ? now : withoutFiles(now), hasEnded, this.#stored, edits()),
      )
      this.#written = now
      const before = this.#stored
      if (stored !== undefined) this.#stored = stored
      if (!hasEnded) for (const part of await store.addedParts(now.document.id, before, this.#stored)) movedToDisk(part)
      this.#reportRemoved(await store.makeRoom(isInUse))
      written()
    } catch (error) {
      this.#hasFailed = true
      report(
        isQuotaError(error)
          ? 'The browser has no room to keep this session. Export what you need before the page closes, or delete other sessions.'
          : 'The browser could not keep this session. Export what you need before the page closes.',
      )
    }
  }

  /** Without room the oldest sessions go, then the recording of this one. */
  async #inRoom<A>(write: () => Promise<A>): Promise<A> {
    const { store, isInUse, report } = this.#options
    for (;;) {
      try {
        return await write()
      } catch (error) {
        if (!isQuotaError(error)) throw error
        const removed = await store.removeOldest(isInUse)
        this.#reportRemoved(removed)
        if (removed.length > 0) continue
        if (!this.#hasFiles) throw error
        this.#hasFiles = false
        report('The browser has no room for the recording of this session; its text is kept.')
      }
    }
  }

  #reportRemoved(removed: readonly KeptSession[]): void {
    const titles = removed.flatMap(({ title, deletedAtMs }) => (deletedAtMs === undefined ? [`“${title}”`] : []))
    if (titles.length > 0)
      this.#options.report(`Removed to make room: ${titles.join(', ')}. Pin the sessions that must stay.`)
  }
}

const isWorthKeeping = ({ document, audio }: SessionContent): boolean =>
  hasWords(document) ||
  (document.origin === 'microphone' && audio !== undefined && document.durationMs >= minRecordingMs)

const isSame = (a: SessionContent, b: SessionContent | undefined): boolean =>
  a.document.lines === b?.document.lines && a.audio?.size === b.audio?.size && a.events.size === b.events.size

const withoutFiles = ({ document, events }: SessionContent): SessionContent => ({
  document,
  events: events.slice(0, 0),
  audio: undefined,
  cassette: undefined,
})

const isQuotaError = (error: unknown): boolean =>
  error instanceof DOMException && (error.name === 'QuotaExceededError' || error.name === 'UnknownError')
