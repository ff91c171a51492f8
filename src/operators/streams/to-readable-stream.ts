import type { Observable } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import { eventsOf, type EventsOfOptions } from './events-of.js'

/**
 * A session as a Web stream of its events. It begins with the first read; `cancel()` unsubscribes, which aborts the
 * session; an error of it errors the stream behind all events that came before. Buffered: as in `eventsOf`.
 *
 * Throws `invalid-options` when it is called.
 */
export const toReadableStream = (
  events$: Observable<SessionEvent>,
  options: EventsOfOptions = {},
): ReadableStream<SessionEvent> => {
  const events = eventsOf(events$, options)[Symbol.asyncIterator]()
  return new ReadableStream<SessionEvent>(
    {
      pull: async (controller) => {
        const result = await events.next()
        if (result.done === true) controller.close()
        else controller.enqueue(result.value)
      },
      cancel: async () => {
        await events.return?.()
      },
    },
    // What waits, waits in one place.
    { highWaterMark: 0 },
  )
}
