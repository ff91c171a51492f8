import type { Observable } from 'rxjs'
import type { SessionEvent } from '../../protocol/session-event.js'
import type { EventQueueOptions } from './event-queue.js'
import { toAsyncIterable } from './to-async-iterable.js'

/**
 * Converts a session to a Web stream of its events. It starts with the first read. `cancel()` unsubscribes, which
 * aborts the session; an error of the session errors the stream after the events before it. Buffering: as in
 * `toAsyncIterable`.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * const toLines = new TransformStream<SessionEvent, string>({
 *   transform: (event, controller) => controller.enqueue(`${JSON.stringify(event)}\n`),
 * })
 * const body = toReadableStream(session$).pipeThrough(toLines).pipeThrough(new TextEncoderStream())
 * const response = new Response(body, { headers: { 'Content-Type': 'application/x-ndjson' } })
 * ```
 */
export const toReadableStream = (
  events$: Observable<SessionEvent>,
  options: EventQueueOptions = {},
): ReadableStream<SessionEvent> => {
  const events = toAsyncIterable(events$, options)[Symbol.asyncIterator]()
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
    // The queue of events is the only buffer.
    { highWaterMark: 0 },
  )
}
