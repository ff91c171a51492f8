import type { SchedulerLike, Subscription } from 'rxjs'
import { ArrivalClock, type TrafficShape } from './traffic.js'

export interface MessagePipeOptions<Item> {
  readonly shape: () => TrafficShape
  readonly scheduler: SchedulerLike
  readonly random: () => number
  readonly deliver: (item: Item, sizeBytes: number) => void
  /** Returns a corrupted copy. */
  readonly corrupt: (item: Item) => Item
  /** Called when the held bytes or the mode changed. */
  readonly onChange: () => void
}

interface Held<Item> {
  readonly item: Item
  readonly sizeBytes: number
  readonly dueMs: number
}

/** One direction of a link with faults: delivers messages in order, delayed, twice, corrupted, or not at all. */
export class MessagePipe<Item> {
  readonly #options: MessagePipeOptions<Item>
  readonly #arrivals: ArrivalClock
  #held: Held<Item>[] = []
  #heldBytes = 0
  #timer: Subscription | undefined
  #mode: 'open' | 'stalled' | 'discarding' = 'open'
  #toCorrupt = 0
  #toDuplicate = 0

  constructor(options: MessagePipeOptions<Item>) {
    this.#options = options
    this.#arrivals = new ArrivalClock(options.random)
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  get isStalled(): boolean {
    return this.#mode === 'stalled'
  }

  /** Takes a message, which may be corrupted or duplicated. */
  push(original: Item, sizeBytes: number): void {
    const isCorrupted = this.#toCorrupt > 0 && this.#mode !== 'discarding'
    if (isCorrupted) this.#toCorrupt -= 1
    const item = isCorrupted ? this.#options.corrupt(original) : original
    this.pushUnchanged(item, sizeBytes)
    if (this.#toDuplicate === 0) return
    this.#toDuplicate -= 1
    this.pushUnchanged(item, sizeBytes)
  }

  /** Takes an end or an injected message, which are delayed like messages but never corrupted or duplicated. */
  pushUnchanged(item: Item, sizeBytes: number): void {
    if (this.#mode === 'discarding') return
    const { scheduler, shape, deliver, onChange } = this.#options
    const nowMs = scheduler.now()
    const dueMs = this.#arrivals.dueMs(shape(), nowMs, sizeBytes)
    if (this.#held.length === 0 && this.#mode === 'open' && dueMs <= nowMs) {
      deliver(item, sizeBytes)
      return
    }
    this.#held.push({ item, sizeBytes, dueMs })
    this.#heldBytes += sizeBytes
    onChange()
    this.#setTimer()
  }

  corruptNext(): void {
    this.#toCorrupt += 1
  }

  duplicateNext(): void {
    this.#toDuplicate += 1
  }

  stall(): void {
    if (this.#mode === 'open') this.#mode = 'stalled'
    this.#timer?.unsubscribe()
    this.#timer = undefined
    this.#options.onChange()
  }

  resume(): void {
    if (this.#mode !== 'stalled') return
    this.#mode = 'open'
    this.#deliverDue()
    this.#options.onChange()
  }

  /** Discards everything permanently, including what is held. */
  discard(): void {
    this.#mode = 'discarding'
    this.#held = []
    this.#heldBytes = 0
    this.#timer?.unsubscribe()
    this.#options.onChange()
  }

  #setTimer(): void {
    const [next] = this.#held
    if (this.#timer !== undefined || this.#mode !== 'open' || next === undefined) return
    const { scheduler } = this.#options
    const delayMs = Math.max(0, next.dueMs - scheduler.now())
    this.#timer = scheduler.schedule(() => this.#deliverDue(), delayMs)
  }

  #deliverDue(): void {
    this.#timer?.unsubscribe()
    this.#timer = undefined
    const nowMs = this.#options.scheduler.now()
    // A delivered message can trigger a fault that stalls or discards the rest.
    for (let next = this.#held[0]; next !== undefined && this.#mode === 'open'; next = this.#held[0]) {
      if (next.dueMs > nowMs) break
      this.#held.shift()
      this.#heldBytes -= next.sizeBytes
      this.#options.deliver(next.item, next.sizeBytes)
    }
    this.#options.onChange()
    this.#setTimer()
  }
}
