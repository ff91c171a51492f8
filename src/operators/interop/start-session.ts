/// <reference lib="esnext.disposable" preserve="true" />
import { asyncScheduler, ReplaySubject, Subject, takeUntil, type Observable, type SchedulerLike } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { checkOptions, numberUpToInfinity, optionsOf, schedulerValue } from '../../protocol/validation.js'
import { longTimer } from '../../kernel/timers.js'
import { defaultMaxQueued, EventQueue, eventQueueCodecs, type EventQueueOptions } from './event-queue.js'

/** How a held session is read and closed. */
export interface StartSessionOptions extends EventQueueOptions {
  /** How long `close` waits for the last results before it aborts, in milliseconds, or 0. @default 10 000 */
  readonly closeWithinMs?: number | undefined
  /** The clock of that wait. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const startSessionOptions = optionsOf<StartSessionOptions>()(
  {},
  { ...eventQueueCodecs, closeWithinMs: numberUpToInfinity(0), scheduler: schedulerValue },
)

/** How a started session ended. */
export type SessionEnd =
  | { readonly type: 'completed' }
  | { readonly type: 'failed'; readonly error: unknown }
  /** By `abort`, or by `close` after its timeout. */
  | { readonly type: 'aborted' }

/** A running session for scripts and notebooks: read it in a loop and release it with `await using`. */
export interface SessionHandle extends AsyncIterable<SessionEvent, undefined>, AsyncDisposable {
  /** Ends the audio and resolves with how the session ended. Remaining events can still be read. Never rejects. */
  readonly finish: () => Promise<SessionEnd>
  /**
   * `finish` within `closeWithinMs`. A running loop still gets the remaining events; without one they are dropped.
   * Leaving `await using` does the same.
   */
  readonly close: () => Promise<void>
  /** Ends the session at once. */
  readonly abort: () => void
  /** Resolves with how the session ended. Never rejects. */
  readonly ended: Promise<SessionEnd>
}

/**
 * Starts a session at once and holds it.
 *
 * - `for await (const event of session)` reads it as `toAsyncIterable` does, with the same bound. Leaving the loop does
 *   not end the session; later events are dropped.
 * - At the end of the block with `await using`, the session is finalized and awaited for up to `closeWithinMs`, then
 *   aborted. No socket and no timer remain. An error of the session is reported by the loop and by `ended`, not there.
 * - Without `Symbol.asyncDispose`, call `close`.
 *
 * Throws `invalid-options`, and what `open` throws.
 *
 * @example
 * ```ts
 * await using session = startSession((finalize$) => audio$.pipe(recognize({ ...options, finalize$ })))
 * for await (const event of session) console.log(event.type)
 * ```
 */
export const startSession = (
  open: (finalize$: Observable<void>) => Observable<SessionEvent>,
  options: StartSessionOptions = {},
): SessionHandle => {
  checkOptions(startSessionOptions, options)
  const { maxQueued = defaultMaxQueued, closeWithinMs = 10_000, scheduler = asyncScheduler } = options
  const run = new SessionRun(open, new EventQueue(maxQueued))
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
  /** Whether a loop was started. `#isRead` is false once it was left. */
  #hasReader = false
  #isOver = false
  #resolveEnded: (end: SessionEnd) => void = () => undefined

  constructor(open: (finalize$: Observable<void>) => Observable<SessionEvent>, queue: EventQueue) {
    this.#queue = queue
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve))
    open(this.#finalize$.asObservable())
      .pipe(takeUntil(this.#over$))
      .subscribe({
        next: (event) => this.#take(event),
        error: (error: unknown) => this.end({ type: 'failed', error }),
        complete: () => this.end({ type: 'completed' }),
      })
  }

  /** Ends the run. The first end counts. */
  end(end: SessionEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#queue.finish(end.type === 'failed' ? end : { type: 'completed' })
    this.#resolveEnded(end)
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
    this.#queue.close()
  }
}
