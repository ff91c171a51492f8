import type { NodeItem } from '../nodes/core/node.js'
import { DropEpisodes } from './drop-episodes.js'
import { WaitingLine } from './waiting-line.js'
import type { Drops, Offered, WireTerms } from './wire-policy.js'

export interface WireListener {
  /** It is full, and whoever feeds the graph is to wait; or it is half empty again. */
  readonly blocked: (isBlocked: boolean) => void
  readonly dropped: (drops: Drops) => void
}

/**
 * What lies between an output and an input: a line with a bound. It holds what waits and what its consumer was given and
 * has not dealt with yet. Plain state without a clock: whoever runs the graph offers, takes and says what was consumed.
 *
 * `block` gives everything on at once and says when it is full; `fail` says so, too, and takes nothing then; `dropNewest`
 * takes what fits; `dropOldest` gives on half of what it may hold, lets the rest wait, and drops from that. In the place of dropped audio
 * silence of the same length is given on, as soon as there is room, so that times stay true.
 */
export class BoundedWire {
  readonly #line: WaitingLine
  readonly #drops: DropEpisodes
  #inFlight = 0
  #isBlocked = false
  #isDrain = false
  #isUnbounded = false

  constructor(
    private readonly terms: WireTerms,
    private readonly listener: WireListener,
  ) {
    this.#line = new WaitingLine(terms)
    this.#drops = new DropEpisodes(listener.dropped)
  }

  /** Frames or events that wait, or that the consumer has not dealt with. Silence that waits is none. */
  get held(): number {
    return this.#line.count + this.#inFlight
  }

  get isEmpty(): boolean {
    return this.#line.isEmpty
  }

  countOf(item: NodeItem): number {
    return this.#line.countOf(item)
  }

  offer(item: NodeItem): Offered {
    if (this.#isDrain) return 'taken'
    const count = this.countOf(item)
    const { whenFull, capacity, slack } = this.terms
    if (this.#drops.isOpen && this.held <= capacity / 2) this.#drops.end()
    this.#drops.given(count)
    switch (whenFull) {
      case 'fail':
        if (this.held + count > capacity) return 'full'
        this.#line.push(item, count)
        return 'taken'
      case 'dropNewest':
        this.#pushWhatFits(item, count)
        return 'taken'
      case 'dropOldest':
        this.#line.push(item, count)
        this.#trim()
        return 'taken'
      case 'block':
        this.#line.push(item, count)
        if (this.held > capacity) this.#block(true)
        return this.held > capacity + slack ? 'flooded' : 'taken'
    }
  }

  /** What was dropped since this was last asked for. */
  takeLoss(): number {
    return this.#drops.takeLoss()
  }

  /** The next for the consumer, which counts as in flight from here on; undefined where there is none, or no room for it. */
  take(): NodeItem | undefined {
    const taken = this.#line.take(this.#room())
    if (taken === undefined) return undefined
    if (!this.#isUnbounded) this.#inFlight += taken.count
    return taken.item
  }

  /** So many frames or events are dealt with; `Infinity` where the consumer wants to hold nobody up any more. */
  consumed(count: number): void {
    if (count === Infinity) this.#isUnbounded = true
    this.#inFlight = this.#isUnbounded ? 0 : Math.max(0, this.#inFlight - count)
    if (this.held <= this.terms.capacity / 2) this.#block(false)
  }

  /** Nothing more is offered: what was dropped is told. */
  finish(): void {
    this.#drops.end()
  }

  /** The consumer is gone: whatever comes runs off. */
  drain(): void {
    this.#isDrain = true
    this.#line.clear()
    this.#inFlight = 0
    this.#drops.end()
    this.#block(false)
  }

  /**
   * How much may be given on now. While silence waits, what is in flight and what waits share the bound half and half,
   * or the audio behind the silence could keep it from ever going on.
   */
  #room(): number {
    const isShared = this.terms.whenFull === 'dropOldest' || this.#line.hasSilence
    return isShared ? this.#half - this.#inFlight : Infinity
  }

  get #half(): number {
    return Math.max(1, Math.floor(this.terms.capacity / 2))
  }

  #pushWhatFits(item: NodeItem, count: number): void {
    const room = this.#drops.isOpen ? 0 : Math.max(0, Math.floor(this.#free))
    if (count <= room) {
      this.#line.push(item, count)
      return
    }
    const fits = item.type === 'audio' ? room : 0
    if (item.type === 'audio' && fits > 0) {
      this.#line.push({ ...item, bytes: item.bytes.subarray(0, fits * this.terms.frameBytes) }, fits)
    }
    this.#drops.drop(count - fits)
    if (item.type === 'audio') this.#line.pushSilence(count - fits)
  }

  get #free(): number {
    const free = this.terms.capacity - this.held
    return this.#line.hasSilence ? Math.min(free, this.#half - this.#line.count) : free
  }

  /** Drops what is too much. Audio is dropped down to the half that may wait behind its silence. */
  #trim(): void {
    const { kind, capacity } = this.terms
    if (this.held <= capacity && !this.#line.hasSilence) return
    const most = kind === 'audio' ? capacity - this.#half : capacity - this.#inFlight
    while (this.#line.count > most) {
      const count = this.#line.oldest(this.#line.count - most)
      this.#drops.drop(count)
      this.#line.dropOldest(count)
    }
  }

  #block(isBlocked: boolean): void {
    if (this.#isBlocked === isBlocked) return
    this.#isBlocked = isBlocked
    this.listener.blocked(isBlocked)
  }
}
