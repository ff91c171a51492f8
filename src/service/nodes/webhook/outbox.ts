import {
  concat,
  defer,
  EMPTY,
  filter,
  from,
  map,
  merge,
  mergeMap,
  of,
  repeat,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import type { NodeItem } from '../core/node.js'
import { DeliveryTally } from './account.js'
import type { Delivery } from './delivery.js'
import type { WebhookSettings } from './options.js'
import { WebhookQueue } from './queue.js'

const maxQueueBytes = 16 * 1024 * 1024
const batchBytes = 256 * 1024

export interface Outbox {
  readonly terms: WebhookSettings
  readonly scheduler: SchedulerLike
  readonly encode: (event: EventEnvelope) => string
  readonly deliver: (events: readonly string[]) => Observable<Delivery>
}

/**
 * Takes events in without ever waiting and delivers them in batches, in order, at most `inFlight` at a time; emits what is
 * to be told of it. A batch goes when it is full or `batchMs` after its first event was seen. When the input completes
 * the rest is delivered, for `flushMs` at most; what is left then counts as lost. Errors of the input pass.
 */
export const runOutbox = (
  input$: Observable<NodeItem>,
  { terms, scheduler, encode, deliver }: Outbox,
): Observable<NodeItem> =>
  defer(() => {
    const queue = new WebhookQueue({
      maxEvents: terms.maxQueue,
      maxBytes: maxQueueBytes,
      dropNewest: terms.whenFull === 'dropNewest',
      batchEvents: terms.batchEvents,
      batchBytes,
    })
    const account = new DeliveryTally()
    const changed$ = new Subject<void>()
    const over$ = new Subject<void>()
    let isOver = false

    const when = (isSo: () => boolean): Observable<unknown> =>
      defer(() => (isSo() ? of(undefined) : changed$.pipe(filter(isSo), take(1))))
    const isFull = (): boolean => queue.hasFullBatch || isOver
    const batch$ = when(() => queue.size > 0 || isOver).pipe(
      switchMap(() => (isFull() ? of(undefined) : merge(timer(terms.batchMs, scheduler), when(isFull)).pipe(take(1)))),
      map(() => queue.take()),
    )
    const send = (events: readonly string[]): Observable<NodeItem> => {
      if (events.length === 0) return EMPTY
      account.sent(events.length)
      return deliver(events).pipe(mergeMap((delivery) => from(account.ended(events.length, delivery))))
    }
    const slot$ = batch$.pipe(
      switchMap(send),
      repeat({ delay: () => (isOver && queue.size === 0 ? EMPTY : of(undefined)) }),
    )
    const deadline$ = over$.pipe(switchMap(() => timer(terms.flushMs, scheduler)))
    const feed$ = input$.pipe(
      mergeMap((item) => {
        if (item.type !== 'event') return EMPTY
        const dropped = queue.add(encode(item.event))
        changed$.next()
        return from(account.dropped(dropped))
      }),
      tap({
        complete: () => {
          isOver = true
          over$.next()
          changed$.next()
        },
      }),
    )
    const slots$ = merge(...Array.from({ length: terms.inFlight }, () => slot$)).pipe(takeUntil(deadline$))
    return concat(
      merge(slots$, feed$),
      defer(() => from(account.close(queue.size))),
    )
  })
