import type { SchedulerLike, Subscription } from 'rxjs'
import { Arrivals, type TrafficShape } from './traffic-shape.js'

/** What travels on a link: a message, or an end, which has no size. */
export interface Parcel<T> {
  readonly content: T
  readonly sizeBytes: number
}

export interface MessageLaneOptions<T> {
  readonly shape: () => TrafficShape
  readonly scheduler: SchedulerLike
  readonly random: () => number
  readonly deliver: (content: T, sizeBytes: number) => void
  /** A broken copy. */
  readonly corrupt: (content: T) => T
  /** What is held has changed. */
  readonly changed: () => void
}

interface Held<T> extends Parcel<T> {
  readonly dueMs: number
}

/** One direction of a link that is tampered with: hands messages on in order, at once, later, twice, broken, or never. */
export class MessageLane<T> {
  readonly #options: MessageLaneOptions<T>
  readonly #arrivals: Arrivals
  #held: Held<T>[] = []
  #heldBytes = 0
  #timer: Subscription | undefined
  #mode: 'open' | 'stalled' | 'swallowing' = 'open'
  #toCorrupt = 0
  #toDuplicate = 0

  constructor(options: MessageLaneOptions<T>) {
    this.#options = options
    this.#arrivals = new Arrivals(options.random)
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  get isStalled(): boolean {
    return this.#mode === 'stalled'
  }

  /** A message that faults may befall. */
  carry(content: T, sizeBytes: number): void {
    const broken = this.#toCorrupt > 0 && this.#mode !== 'swallowing'
    if (broken) this.#toCorrupt -= 1
    const one = broken ? this.#options.corrupt(content) : content
    this.carryUntouched(one, sizeBytes)
    if (this.#toDuplicate === 0) return
    this.#toDuplicate -= 1
    this.carryUntouched(one, sizeBytes)
  }

  /** An end, or what was put in: late as all else, and whole. */
  carryUntouched(content: T, sizeBytes: number): void {
    if (this.#mode === 'swallowing') return
    const { scheduler, shape, deliver, changed } = this.#options
    const nowMs = scheduler.now()
    const dueMs = this.#arrivals.dueMs(shape(), nowMs, sizeBytes)
    if (this.#held.length === 0 && this.#mode === 'open' && dueMs <= nowMs) {
      deliver(content, sizeBytes)
      return
    }
    this.#held.push({ content, sizeBytes, dueMs })
    this.#heldBytes += sizeBytes
    changed()
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
    this.#options.changed()
  }

  goOn(): void {
    if (this.#mode !== 'stalled') return
    this.#mode = 'open'
    this.#deliverDue()
    this.#options.changed()
  }

  /** From now on, for good, nothing arrives, nor what is under way. */
  swallow(): void {
    this.#mode = 'swallowing'
    this.#held = []
    this.#heldBytes = 0
    this.#timer?.unsubscribe()
    this.#options.changed()
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
    // A fault that a message brings about may stall or swallow the rest.
    for (let next = this.#held[0]; next !== undefined && this.#mode === 'open'; next = this.#held[0]) {
      if (next.dueMs > nowMs) break
      this.#held.shift()
      this.#heldBytes -= next.sizeBytes
      this.#options.deliver(next.content, next.sizeBytes)
    }
    this.#options.changed()
    this.#setTimer()
  }
}
