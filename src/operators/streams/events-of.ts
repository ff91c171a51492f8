import { Subject, takeUntil, type Observable } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { EventQueue, maxQueuedOf, type EventQueueOptions } from './event-queue.js'

export type EventsOfOptions = EventQueueOptions

/**
 * A session for `for await`: each loop is one subscription, from the first event that is asked for to the end of the
 * loop.
 *
 * - Leaving the loop, by `break`, `return` or an error, unsubscribes, which aborts the session at once.
 * - Completion ends the loop. An error is thrown in it behind all events that came before.
 * - Buffered: `maxQueued` events. A session does not wait for who reads it, so when they are more, partials go that a
 *   later result of their channel has replaced; milestones, finals and all other events never do. When that makes no
 *   room, the session is unsubscribed from, and behind what waits the loop ends with the error `overloaded`.
 *
 * A Node stream is `Readable.from(eventsOf(session$))`. Throws `invalid-options` when it is called.
 */
export const eventsOf = (
  events$: Observable<SessionEvent>,
  options: EventsOfOptions = {},
): AsyncIterable<SessionEvent, undefined> => {
  const maxQueued = maxQueuedOf(options)
  return { [Symbol.asyncIterator]: () => iterate(events$, maxQueued) }
}

const iterate = (events$: Observable<SessionEvent>, maxQueued: number): AsyncIterator<SessionEvent, undefined> => {
  const queue = new EventQueue(maxQueued)
  const left$ = new Subject<void>()
  let phase: 'idle' | 'begun' = 'idle'
  const begin = (): void => {
    phase = 'begun'
    // Not the subscription: a source that emits at once must be left before there is one.
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
    queue.leave()
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
      return Promise.reject(error instanceof Error ? error : new Error('The loop was left.', { cause: error }))
    },
  }
}
