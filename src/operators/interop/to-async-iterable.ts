import { Subject, takeUntil, type Observable } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { checkOptions, optionsOf } from '../../protocol/validation.js'
import { defaultMaxQueued, EventQueue, eventQueueCodecs, type EventQueueOptions } from './event-queue.js'

const queueOptions = optionsOf<EventQueueOptions>()({}, eventQueueCodecs)

/**
 * Reads a session with `for await`. Each loop is one subscription, from its first read to its end.
 *
 * - Leaving the loop by `break`, `return` or an error unsubscribes, which aborts the session at once.
 * - Completion ends the loop. An error is thrown after all events that came before it.
 * - Buffering: `maxQueued` events, because a session does not wait for its reader. When more events wait, partials that
 *   a later result of their channel has replaced are dropped; other events never are. If that is not enough, the
 *   session is unsubscribed, and the loop ends with the error `overloaded` after the waiting events.
 *
 * `Readable.from(toAsyncIterable(session$))` is a Node stream. Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * for await (const event of toAsyncIterable(session$)) console.log(event.type)
 * ```
 */
export const toAsyncIterable = (
  events$: Observable<SessionEvent>,
  options: EventQueueOptions = {},
): AsyncIterable<SessionEvent, undefined> => {
  const { maxQueued = defaultMaxQueued } = checkOptions(queueOptions, options)
  return { [Symbol.asyncIterator]: () => iterate(events$, maxQueued) }
}

const iterate = (events$: Observable<SessionEvent>, maxQueued: number): AsyncIterator<SessionEvent, undefined> => {
  const queue = new EventQueue(maxQueued)
  const left$ = new Subject<void>()
  let phase: 'idle' | 'begun' = 'idle'
  const begin = (): void => {
    phase = 'begun'
    // A Subject and not the subscription, which does not exist yet while the source emits synchronously.
    events$.pipe(takeUntil(left$)).subscribe({
      next: (event) => {
        queue.push(event)
        if (queue.end !== undefined) left$.next()
      },
      error: (error: unknown) => queue.finish({ type: 'failed', error }),
      complete: () => queue.finish({ type: 'completed' }),
    })
  }
  const leave = (): void => {
    phase = 'begun'
    queue.close()
    left$.next()
  }
  return {
    next: () => {
      const answer = queue.next()
      if (phase === 'idle') begin()
      return answer
    },
    return: () => {
      leave()
      return Promise.resolve({ done: true, value: undefined })
    },
    throw: (error: unknown) => {
      leave()
      return Promise.reject(
        error instanceof Error ? error : new Error('The loop was ended by throw().', { cause: error }),
      )
    },
  }
}
