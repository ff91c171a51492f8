/// <reference lib="esnext.disposable" preserve="true" />
import { asyncScheduler, ReplaySubject, Subject, takeUntil, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { longTimer } from '../../kernel/timers.js'
import { EventQueue, maxQueuedOf, type EventQueueOptions } from './event-queue.js'

export interface StartSessionOptions extends EventQueueOptions {
  /** How long `close` waits for the last results, in milliseconds; then the session is aborted. 0 aborts at once. Default 10 000. */
  readonly closeWithinMs?: number
  /** The clock of that wait. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/** How a session that was started has ended. */
export type SessionEnd =
  | { readonly type: 'completed' }
  | { readonly type: 'failed'; readonly error: unknown }
  /** By `abort`, or by `close` after its wait. */
  | { readonly type: 'aborted' }

/** A session that runs, for scripts and notebooks: read it in a loop, and let go of it by `await using`. */
export interface SessionHandle extends AsyncIterable<SessionEvent, undefined>, AsyncDisposable {
  /** Ends the audio, and resolves with how the session ended; what still comes can be read. Never rejects. */
  readonly finish: () => Promise<SessionEnd>
  /**
   * `finish`, with a bound of `closeWithinMs`. A loop that reads still gets what comes; where there is none, it is
   * dropped. The same as leaving `await using`.
   */
  readonly close: () => Promise<void>
  /** Ends it at once. */
  readonly abort: () => void
  /** How it ended, once it has. Never rejects. */
  readonly ended: Promise<SessionEnd>
}

/**
 * Starts a session at once and holds it:
 * `await using session = startSession((finalize$) => recognize({ …, finalize$ })(audio))`.
 *
 * - `for await (const event of session)` reads it, as `eventsOf` does and within the same bound; leaving the loop lets the
 *   session run, and what comes then is dropped.
 * - At the end of the block that holds it, the session is finalized and awaited, up to `closeWithinMs`, then aborted:
 *   no socket and no timer is left. An error of the session is told in the loop and in `ended`, not there.
 * - Where there is no `Symbol.asyncDispose`, call `close`.
 *
 * Throws `invalid-options`, and what `open` throws.
 */
export const startSession = (
  open: (finalize$: Observable<void>) => Observable<SessionEvent>,
  options: StartSessionOptions = {},
): SessionHandle => {
  const { closeWithinMs = 10_000, scheduler = asyncScheduler } = options
  if (!(closeWithinMs >= 0)) throw new SpeechError('invalid-options', 'closeWithinMs must be a number from 0.')
  const run = new SessionRun(open, new EventQueue(maxQueuedOf(options)))
  const close = (): Promise<void> => run.close(closeWithinMs, scheduler)
  return {
    [Symbol.asyncIterator]: () => run.events(),
    finish: () => run.finish(),
    close,
    abort: () => run.end({ type: 'aborted' }),
    ended: run.ended,
    [Symbol.asyncDispose]: close,
  }
}

class SessionRun {
  readonly ended: Promise<SessionEnd>
  readonly #queue: EventQueue
  readonly #finalize$ = new ReplaySubject<void>(1)
  readonly #over$ = new Subject<void>()
  #isRead = true
  /** Whether a loop was begun; one that was left has `#isRead` false. */
  #hasReader = false
  #isOver = false
  #tellEnd: (end: SessionEnd) => void = () => undefined

  constructor(open: (finalize$: Observable<void>) => Observable<SessionEvent>, queue: EventQueue) {
    this.#queue = queue
    this.ended = new Promise((resolve) => (this.#tellEnd = resolve))
    open(this.#finalize$.asObservable())
      .pipe(takeUntil(this.#over$))
      .subscribe({
        next: (event) => this.#take(event),
        error: (error: unknown) => this.end({ type: 'failed', error }),
        complete: () => this.end({ type: 'completed' }),
      })
  }

  /** The first end counts; whatever still runs is let go of. */
  end(end: SessionEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#queue.finish(end.type === 'failed' ? end : { type: 'completed' })
    this.#tellEnd(end)
    this.#over$.next()
  }

  finish(): Promise<SessionEnd> {
    this.#finalize$.next()
    return this.ended
  }

  async close(withinMs: number, scheduler: SchedulerLike): Promise<void> {
    if (!this.#hasReader) this.#leave()
    if (this.#isOver) return
    if (withinMs === 0) {
      this.end({ type: 'aborted' })
      return
    }
    const waiting = longTimer(withinMs, scheduler)
      .pipe(takeUntil(this.#over$))
      .subscribe(() => this.end({ type: 'aborted' }))
    await this.finish()
    waiting.unsubscribe()
  }

  events(): AsyncIterator<SessionEvent, undefined> {
    return {
      next: () => {
        this.#hasReader = true
        return this.#queue.next()
      },
      return: () => {
        this.#leave()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }

  #take(event: SessionEvent): void {
    if (!this.#isRead) return
    this.#queue.push(event)
    const { end } = this.#queue
    if (end !== undefined) this.end(end)
  }

  #leave(): void {
    this.#isRead = false
    this.#queue.leave()
  }
}
