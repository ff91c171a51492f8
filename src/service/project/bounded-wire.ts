import type { NodeItem } from '../nodes/node.js'
import type { Drops, Offered, Waiting, WireTerms } from './wire-policy.js'

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
  #waiting: Waiting[] = []
  #waitingCount = 0
  #inFlight = 0
  /** How many of those that wait are silence. */
  #silences = 0
  #given = 0
  #isBlocked = false
  #isDrain = false
  #isUnbounded = false
  #untold = 0
  #episode: { dropped: number; readonly atCount: number } | undefined

  constructor(
    private readonly terms: WireTerms,
    private readonly listener: WireListener,
  ) {}

  /** Frames or events that wait, or that the consumer has not dealt with. Silence that waits is none. */
  get held(): number {
    return this.#waitingCount + this.#inFlight
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  countOf(item: NodeItem): number {
    return item.type === 'audio' ? item.bytes.length / this.terms.frameBytes : 1
  }

  offer(item: NodeItem): Offered {
    if (this.#isDrain) return 'taken'
    const count = this.countOf(item)
    const { whenFull, capacity, slack } = this.terms
    if (this.#episode !== undefined && this.held <= capacity / 2) this.#endEpisode()
    this.#given += count
    switch (whenFull) {
      case 'fail':
        if (this.held + count > capacity) return 'full'
        this.#push(item, count)
        return 'taken'
      case 'dropNewest':
        this.#pushWhatFits(item, count)
        return 'taken'
      case 'dropOldest':
        this.#push(item, count)
        this.#trim()
        return 'taken'
      case 'block':
        this.#push(item, count)
        if (this.held > capacity) this.#block(true)
        return this.held > capacity + slack ? 'flooded' : 'taken'
    }
  }

  /** What was dropped since this was last asked for. */
  takeLoss(): number {
    const count = this.#untold
    this.#untold = 0
    return count
  }

  /** The next for the consumer, which counts as in flight from here on; undefined where there is none, or no room for it. */
  take(): NodeItem | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const room = this.#room()
    if (room <= 0) return undefined
    if (first.type === 'silence') return this.#takeSilence(first.frames, room)
    const count = this.countOf(first)
    const item = count > room ? this.#cut(first, room) : first
    if (item === first) this.#waiting.shift()
    const taken = item === first ? count : room
    this.#waitingCount -= taken
    this.#fly(taken)
    return item
  }

  /** So many frames or events are dealt with; `Infinity` where the consumer wants to hold nobody up any more. */
  consumed(count: number): void {
    if (count === Infinity) this.#isUnbounded = true
    this.#inFlight = this.#isUnbounded ? 0 : Math.max(0, this.#inFlight - count)
    if (this.held <= this.terms.capacity / 2) this.#block(false)
  }

  /** Nothing more is offered: what was dropped is told. */
  finish(): void {
    this.#endEpisode()
  }

  /** The consumer is gone: whatever comes runs off. */
  drain(): void {
    this.#isDrain = true
    this.#waiting = []
    this.#waitingCount = 0
    this.#silences = 0
    this.#inFlight = 0
    this.#endEpisode()
    this.#block(false)
  }

  /**
   * How much may be given on now. While silence waits, what is in flight and what waits share the bound half and half,
   * or the audio behind the silence could keep it from ever going on.
   */
  #room(): number {
    const { whenFull } = this.terms
    const isShared = whenFull === 'dropOldest' || this.#silences > 0
    return isShared ? this.#half - this.#inFlight : Infinity
  }

  get #half(): number {
    return Math.max(1, Math.floor(this.terms.capacity / 2))
  }

  #takeSilence(frames: number, room: number): NodeItem {
    const { silence, frameBytes } = this.terms
    const count = Math.min(frames, room, silence.length / frameBytes)
    if (count === frames) {
      this.#waiting.shift()
      this.#silences -= 1
    } else this.#waiting[0] = { type: 'silence', frames: frames - count }
    this.#fly(count)
    return { type: 'audio', bytes: silence.subarray(0, count * frameBytes) }
  }

  /** The first frames of what waits first; the rest stays there. */
  #cut(first: NodeItem, count: number): NodeItem {
    if (first.type === 'event') return first
    const bytes = count * this.terms.frameBytes
    this.#waiting[0] = { ...first, bytes: first.bytes.subarray(bytes) }
    return { ...first, bytes: first.bytes.subarray(0, bytes) }
  }

  #fly(count: number): void {
    if (!this.#isUnbounded) this.#inFlight += count
  }

  #push(item: NodeItem, count: number): void {
    this.#waiting.push(item)
    this.#waitingCount += count
  }

  #pushWhatFits(item: NodeItem, count: number): void {
    const room = this.#episode === undefined ? Math.max(0, Math.floor(this.#free)) : 0
    if (count <= room) {
      this.#push(item, count)
      return
    }
    const fits = item.type === 'audio' ? room : 0
    if (item.type === 'audio' && fits > 0) {
      this.#push({ ...item, bytes: item.bytes.subarray(0, fits * this.terms.frameBytes) }, fits)
    }
    this.#drop(count - fits)
    if (item.type === 'audio') this.#pushSilence(count - fits)
  }

  get #free(): number {
    const free = this.terms.capacity - this.held
    return this.#silences === 0 ? free : Math.min(free, this.#half - this.#waitingCount)
  }

  /** Silence that follows silence is one. */
  #pushSilence(frames: number): void {
    const last = this.#waiting.at(-1)
    if (last?.type === 'silence') {
      this.#waiting[this.#waiting.length - 1] = { type: 'silence', frames: last.frames + frames }
      return
    }
    this.#silences += 1
    this.#waiting.push({ type: 'silence', frames })
  }

  /** Drops what is too much. Audio is dropped down to the half that may wait behind its silence. */
  #trim(): void {
    const { kind, capacity } = this.terms
    if (this.held <= capacity && this.#silences === 0) return
    const most = kind === 'audio' ? capacity - this.#half : capacity - this.#inFlight
    while (this.#waitingCount > most) this.#dropOldest(this.#waitingCount - most)
  }

  /** Drops at most so much of the oldest that waits; audio leaves its length behind, joined to the silence before it. */
  #dropOldest(excess: number): void {
    const at = this.#waiting.findIndex(({ type }) => type !== 'silence')
    const oldest = this.#waiting[at]
    if (oldest === undefined || oldest.type === 'silence') return
    const count = this.countOf(oldest)
    const dropped = Math.min(count, Math.ceil(excess))
    this.#drop(dropped)
    this.#waitingCount -= dropped
    if (oldest.type === 'event') {
      this.#waiting.splice(at, 1)
      return
    }
    const before = this.#waiting[at - 1]
    const frames = dropped + (before?.type === 'silence' ? before.frames : 0)
    const rest = { ...oldest, bytes: oldest.bytes.subarray(dropped * this.terms.frameBytes) }
    const from = before?.type === 'silence' ? at - 1 : at
    if (from === at) this.#silences += 1
    this.#waiting.splice(from, at - from + 1, { type: 'silence', frames }, ...(dropped < count ? [rest] : []))
  }

  #drop(count: number): void {
    this.#untold += count
    if (this.#episode !== undefined) {
      this.#episode.dropped += count
      return
    }
    this.#episode = { dropped: count, atCount: this.#given }
    this.listener.dropped({ phase: 'begun', ...this.#episode })
  }

  #endEpisode(): void {
    const episode = this.#episode
    this.#episode = undefined
    if (episode !== undefined) this.listener.dropped({ phase: 'ended', ...episode })
  }

  #block(isBlocked: boolean): void {
    if (this.#isBlocked === isBlocked) return
    this.#isBlocked = isBlocked
    this.listener.blocked(isBlocked)
  }
}
