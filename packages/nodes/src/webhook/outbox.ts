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
import type { EventEnvelope, NodeItem } from 'rxspeech-server/nodes'
import { reportItem } from 'rxspeech-server/nodes/core/events'
import type { Delivery } from './delivery.js'

const maxQueueBytes = 16 * 1024 * 1024
const maxBatchBytes = 256 * 1024

interface OutboxSettings {
  readonly inFlight: number
  readonly batchEvents: number
  readonly batchMs: number
  readonly maxQueue: number
  readonly whenFull: 'dropOldest' | 'dropNewest'
  readonly flushMs: number
}

export interface OutboxContext {
  readonly settings: OutboxSettings
  readonly scheduler: SchedulerLike
  readonly encode: (event: EventEnvelope) => string
  readonly deliver: (events: readonly string[]) => Observable<Delivery>
}

/**
 * Accepts events without waiting and delivers them in batches, in order, at most `inFlight` at a time; emits the
 * reports of losses. A batch leaves when it is full, or `batchMs` after its first event. When the input completes, the
 * remaining events are delivered within `flushMs`; those that are left then count as lost. Errors of the input pass
 * through.
 */
export const runOutbox = (
  input$: Observable<NodeItem>,
  { settings, scheduler, encode, deliver }: OutboxContext,
): Observable<NodeItem> =>
  defer(() => {
    const queue = new EventQueue(settings)
    const counter = new DeliveryCounter()
    const changed$ = new Subject<void>()
    const completed$ = new Subject<void>()
    let isCompleted = false

    const when = (condition: () => boolean): Observable<unknown> =>
      defer(() => (condition() ? of(undefined) : changed$.pipe(filter(condition), take(1))))
    const isBatchDue = (): boolean => queue.hasFullBatch || isCompleted
    const batch$ = when(() => queue.size > 0 || isCompleted).pipe(
      switchMap(() =>
        isBatchDue() ? of(undefined) : merge(timer(settings.batchMs, scheduler), when(isBatchDue)).pipe(take(1)),
      ),
      map(() => queue.takeBatch()),
    )
    const send = (events: readonly string[]): Observable<NodeItem> => {
      if (events.length === 0) return EMPTY
      counter.sent(events.length)
      return deliver(events).pipe(mergeMap((delivery) => from(counter.ended(events.length, delivery))))
    }
    const sender$ = batch$.pipe(
      switchMap(send),
      repeat({ delay: () => (isCompleted && queue.size === 0 ? EMPTY : of(undefined)) }),
    )
    const deadline$ = completed$.pipe(switchMap(() => timer(settings.flushMs, scheduler)))
    const feed$ = input$.pipe(
      mergeMap((item) => {
        if (item.type !== 'event') return EMPTY
        const dropped = queue.add(encode(item.event))
        changed$.next()
        return from(counter.dropped(dropped))
      }),
      tap({
        complete: () => {
          isCompleted = true
          completed$.next()
          changed$.next()
        },
      }),
    )
    const senders$ = merge(...Array.from({ length: settings.inFlight }, () => sender$)).pipe(takeUntil(deadline$))
    return concat(
      merge(senders$, feed$),
      defer(() => from(counter.close(queue.size))),
    )
  })

interface QueuedEvent {
  readonly json: string
  readonly byteCount: number
}

/** Events as JSON that wait for their request. Events that do not fit are dropped and counted. */
class EventQueue {
  readonly #settings: OutboxSettings
  #events: QueuedEvent[] = []
  /** The number of events at the beginning that are removed already. */
  #removed = 0
  #bytes = 0

  constructor(settings: OutboxSettings) {
    this.#settings = settings
  }

  get size(): number {
    return this.#events.length - this.#removed
  }

  /** Whether one more event would not fit into the next request. */
  get hasFullBatch(): boolean {
    return this.size >= this.#settings.batchEvents || this.#bytes >= maxBatchBytes
  }

  /** Returns how many events were dropped to make room. */
  add(json: string): number {
    const event = { json, byteCount: Buffer.byteLength(json) }
    const { maxQueue, whenFull } = this.#settings
    const fits = (): boolean => this.size < maxQueue && this.#bytes + event.byteCount <= maxQueueBytes
    if (event.byteCount > maxQueueBytes || (whenFull === 'dropNewest' && !fits())) return 1
    let dropped = 0
    while (!fits()) {
      this.#removeFirst()
      dropped += 1
    }
    this.#events.push(event)
    this.#bytes += event.byteCount
    return dropped
  }

  /** The next events, at least one if any wait. */
  takeBatch(): readonly string[] {
    const batch: string[] = []
    let bytes = 0
    while (batch.length < this.#settings.batchEvents) {
      const event = this.#events[this.#removed]
      if (event === undefined || (batch.length > 0 && bytes + event.byteCount > maxBatchBytes)) break
      this.#removeFirst()
      bytes += event.byteCount
      batch.push(event.json)
    }
    return batch
  }

  #removeFirst(): void {
    this.#bytes -= this.#events[this.#removed]?.byteCount ?? 0
    this.#removed += 1
    // Only occasionally, because slicing a long queue for every event is quadratic.
    if (this.#removed < 1024 && this.#removed < this.#events.length) return
    this.#events = this.#events.slice(this.#removed)
    this.#removed = 0
  }
}

/**
 * Counts delivered and lost events. `Webhook Failed` reports the first lost event of a failure and is not repeated
 * until a batch is accepted. `Webhook Ended` reports the totals at the end, if any event was lost.
 */
class DeliveryCounter {
  #delivered = 0
  #lost = 0
  #underWay = 0
  #isFailing = false

  sent(eventCount: number): void {
    this.#underWay += eventCount
  }

  ended(eventCount: number, delivery: Delivery): readonly NodeItem[] {
    this.#underWay -= eventCount
    if (delivery.type === 'lost') return this.#lose(eventCount, delivery.reason, delivery.attempts)
    this.#delivered += eventCount
    this.#isFailing = false
    return []
  }

  /** Counts events that did not fit into the queue. */
  dropped(eventCount: number): readonly NodeItem[] {
    return eventCount === 0 ? [] : this.#lose(eventCount, 'queue full', 0)
  }

  /** Counts the events that still wait or are under way as lost. */
  close(waitingCount: number): readonly NodeItem[] {
    const left = waitingCount + this.#underWay
    const failed = left === 0 ? [] : this.#lose(left, 'session over', 0)
    if (this.#lost === 0) return []
    return [...failed, reportItem('Webhook Ended', { Delivered: this.#delivered, Lost: this.#lost })]
  }

  #lose(eventCount: number, reason: string, attempts: number): readonly NodeItem[] {
    this.#lost += eventCount
    if (this.#isFailing) return []
    this.#isFailing = true
    return [reportItem('Webhook Failed', { Reason: reason, Attempts: attempts, Lost: eventCount })]
  }
}
