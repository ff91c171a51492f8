import type { NodeItem } from '../../nodes/core/node.js'
import { WireDropCounter, type Drops } from './wire-drops.js'
import type { WireOptions } from './wire-options.js'
import { WireQueue } from './wire-queue.js'

/** The node that a wire leads to. */
export interface WireTarget {
  /** Whether the node takes items now. */
  readonly takesInput: boolean
  /** Whether the node acknowledges items itself instead of by returning. */
  readonly hasManualAck: boolean
  give(item: NodeItem, port: string): void
  /** One of the node's wires has delivered everything and has ended. */
  endInput(): void
}

export interface WireEvents {
  /** The wire may have something to deliver. Emitted once until `deliver` is called. */
  readonly ready: (wire: Wire) => void
  /** The wire is full and the source of the audio has to pause, or it is half empty again. */
  readonly blocked: (isBlocked: boolean) => void
  readonly dropped: (drops: Drops, wire: Wire) => void
}

/** The answer to an offered item: accepted, refused because the wire is full, or accepted beyond the slack. */
export type Offered = 'taken' | 'full' | 'flooded'

/**
 * A wire from an output to an input, with a bound. It holds the items that wait and the items that the target has
 * received but not acknowledged. It has no clock and delivers only when `deliver` is called.
 *
 * - `block` accepts and delivers everything, and reports when it is full.
 * - `fail` refuses what exceeds its capacity.
 * - `dropNewest` accepts what fits and drops the rest.
 * - `dropOldest` delivers up to half of its capacity, keeps the rest waiting, and drops the oldest of that.
 *
 * Silence of the same length replaces dropped audio as soon as there is room, so the later times stay correct.
 */
export class Wire {
  readonly options: WireOptions
  readonly #target: WireTarget
  readonly #events: WireEvents
  readonly #queue: WireQueue
  readonly #drops: WireDropCounter
  #unacked = 0
  #isReady = false
  #isBlocked = false
  /** `finished`: nothing more is offered; `ended`: the target has received that end. */
  #source: 'open' | 'finished' | 'ended' = 'open'
  #isClosed = false
  #isUncounted = false

  constructor(options: WireOptions, target: WireTarget, events: WireEvents) {
    this.options = options
    this.#target = target
    this.#events = events
    this.#queue = new WireQueue(options)
    this.#drops = new WireDropCounter((drops) => events.dropped(drops, this))
  }

  /** Frames or events that wait or are not acknowledged. Silence that waits does not count. */
  get held(): number {
    return this.#queue.count + this.#unacked
  }

  /** The audio that the wire holds, in milliseconds. */
  get heldMs(): number {
    const { sampleRateHz } = this.options
    return sampleRateHz === undefined ? 0 : (this.held * 1000) / sampleRateHz
  }

  get isEmpty(): boolean {
    return this.#queue.isEmpty
  }

  offer(item: NodeItem): Offered {
    const offered = this.#isClosed ? 'taken' : this.#accept(item)
    if (offered === 'taken') this.#markReady()
    return offered
  }

  /**
   * Offers an item while no wire of the graph has anything to deliver: gives it to the target at once if it fits,
   * without the queue.
   */
  pass(item: NodeItem): Offered {
    const count = this.#queue.countOf(item)
    const { whenFull, capacity } = this.options
    const fits = whenFull === 'block' && this.isEmpty && this.held + count <= capacity
    if (!fits || this.#isClosed || !this.#target.takesInput) return this.offer(item)
    this.#drops.offer(count)
    if (!this.#isUncounted) this.#unacked += count
    this.#target.give(item, this.options.to.port)
    if (!this.#target.hasManualAck) this.#release(count)
    return 'taken'
  }

  /** Gives the next item, or the end of the wire, to the target. */
  deliver(): void {
    this.#isReady = false
    if (!this.#target.takesInput) return
    const item = this.take()
    if (item !== undefined) {
      this.#target.give(item, this.options.to.port)
      if (!this.#target.hasManualAck) this.#release(this.#queue.countOf(item))
      if (!this.isEmpty || this.#source === 'finished') this.#markReady()
    } else if (this.#source === 'finished' && this.isEmpty) {
      this.#source = 'ended'
      this.#target.endInput()
    }
  }

  /** Takes the next item, which then waits for its acknowledgement; undefined without an item or room for it. */
  take(): NodeItem | undefined {
    const taken = this.#queue.take(this.#deliverable)
    if (taken === undefined) return undefined
    if (!this.#isUncounted) this.#unacked += taken.count
    return taken.item
  }

  /** Acknowledges frames or events; `Infinity` acknowledges all, now and later. */
  ack(count: number): void {
    const wasBlocked = this.#isBlocked
    this.#release(count)
    // Audio may enter the graph again.
    const isFree = wasBlocked && !this.#isBlocked
    if (isFree || !this.isEmpty || this.#source === 'finished') this.#markReady()
  }

  /** The target was opened again or is bypassed: nothing that it received is outstanding. */
  renew(): void {
    this.ack(Number.MAX_SAFE_INTEGER)
  }

  /** Nothing more is offered. */
  finish(): void {
    if (this.#source !== 'open') return
    this.#source = 'finished'
    this.#drops.end()
    this.#markReady()
  }

  /** The target has ended: discards waiting items and everything that is offered later. */
  close(): void {
    this.#isClosed = true
    this.#queue.clear()
    this.#unacked = 0
    this.#drops.end()
    this.#block(false)
  }

  /** Frames or events dropped since the last call. */
  takeLoss(): number {
    return this.#drops.takeLoss()
  }

  #accept(item: NodeItem): Offered {
    const count = this.#queue.countOf(item)
    const { whenFull, capacity, slack } = this.options
    if (this.#drops.isOpen && this.held <= capacity / 2) this.#drops.end()
    this.#drops.offer(count)
    switch (whenFull) {
      case 'fail':
        if (this.held + count > capacity) return 'full'
        this.#queue.push(item, count)
        return 'taken'
      case 'dropNewest':
        this.#pushWhatFits(item, count)
        return 'taken'
      case 'dropOldest':
        this.#queue.push(item, count)
        this.#dropExcess()
        return 'taken'
      case 'block':
        this.#queue.push(item, count)
        if (this.held > capacity) this.#block(true)
        return this.held > capacity + slack ? 'flooded' : 'taken'
    }
  }

  #markReady(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#events.ready(this)
  }

  #release(count: number): void {
    if (count === Infinity) this.#isUncounted = true
    this.#unacked = this.#isUncounted ? 0 : Math.max(0, this.#unacked - count)
    if (this.held <= this.options.capacity / 2) this.#block(false)
  }

  /**
   * How many frames can be delivered now. While silence waits, the delivered half of the capacity and the waiting half
   * are kept apart; otherwise the audio behind the silence could keep it from ever being delivered.
   */
  get #deliverable(): number {
    const isShared = this.options.whenFull === 'dropOldest' || this.#queue.hasSilence
    return isShared ? this.#half - this.#unacked : Infinity
  }

  get #half(): number {
    return Math.max(1, Math.floor(this.options.capacity / 2))
  }

  get #free(): number {
    const free = this.options.capacity - this.held
    return this.#queue.hasSilence ? Math.min(free, this.#half - this.#queue.count) : free
  }

  #pushWhatFits(item: NodeItem, count: number): void {
    const room = this.#drops.isOpen ? 0 : Math.max(0, Math.floor(this.#free))
    if (count <= room) {
      this.#queue.push(item, count)
      return
    }
    const fits = item.type === 'audio' ? room : 0
    if (item.type === 'audio' && fits > 0) {
      this.#queue.push({ ...item, bytes: item.bytes.subarray(0, fits * this.options.frameBytes) }, fits)
    }
    this.#drops.drop(count - fits)
    if (item.type === 'audio') this.#queue.pushSilence(count - fits)
  }

  /** Drops what exceeds the capacity. Audio is dropped down to the half that can wait behind its silence. */
  #dropExcess(): void {
    const { kind, capacity } = this.options
    if (this.held <= capacity && !this.#queue.hasSilence) return
    const maxWaiting = kind === 'audio' ? capacity - this.#half : capacity - this.#unacked
    while (this.#queue.count > maxWaiting) {
      const count = this.#queue.oldest(this.#queue.count - maxWaiting)
      this.#drops.drop(count)
      this.#queue.dropOldest(count)
    }
  }

  #block(isBlocked: boolean): void {
    if (this.#isBlocked === isBlocked) return
    this.#isBlocked = isBlocked
    this.#events.blocked(isBlocked)
  }
}
