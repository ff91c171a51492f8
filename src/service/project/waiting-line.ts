import type { NodeItem } from '../nodes/core/node.js'
import type { Waiting, WireTerms } from './wire-policy.js'

/** What was taken from the line, and how many frames or events that is. */
export interface Taken {
  readonly item: NodeItem
  readonly count: number
}

/**
 * What waits in a wire, the oldest first. Audio may be cut at any frame, and silence stands in the place of audio that
 * was dropped.
 */
export class WaitingLine {
  #waiting: Waiting[] = []
  #count = 0
  #silences = 0

  constructor(private readonly terms: Pick<WireTerms, 'frameBytes' | 'silence'>) {}

  /** Frames or events that wait. Silence is none. */
  get count(): number {
    return this.#count
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  get hasSilence(): boolean {
    return this.#silences > 0
  }

  countOf(item: NodeItem): number {
    return item.type === 'audio' ? item.bytes.length / this.terms.frameBytes : 1
  }

  push(item: NodeItem, count: number): void {
    this.#waiting.push(item)
    this.#count += count
  }

  /** Silence that follows silence is one. */
  pushSilence(frames: number): void {
    const last = this.#waiting.at(-1)
    if (last?.type === 'silence') {
      this.#waiting[this.#waiting.length - 1] = { type: 'silence', frames: last.frames + frames }
      return
    }
    this.#silences += 1
    this.#waiting.push({ type: 'silence', frames })
  }

  /** The first that waits, of audio and silence at most `room` frames. */
  take(room: number): Taken | undefined {
    const [first] = this.#waiting
    if (first === undefined || room <= 0) return undefined
    if (first.type === 'silence') return this.#takeSilence(first.frames, room)
    const whole = this.countOf(first)
    const item = whole > room ? this.#cut(first, room) : first
    if (item === first) this.#waiting.shift()
    const count = item === first ? whole : room
    this.#count -= count
    return { item, count }
  }

  /** How many could be dropped at once where so many should be: of an event all, of audio no more than its piece has. */
  oldest(excess: number): number {
    const oldest = this.#waiting.find((one) => one.type !== 'silence')
    return oldest === undefined ? 0 : Math.min(this.countOf(oldest), Math.ceil(excess))
  }

  /** Drops so many of the oldest, as `oldest` said; audio leaves its length behind, joined to the silence before it. */
  dropOldest(dropped: number): void {
    const at = this.#waiting.findIndex(({ type }) => type !== 'silence')
    const oldest = this.#waiting[at]
    if (oldest === undefined || oldest.type === 'silence') return
    this.#count -= dropped
    if (oldest.type === 'event') {
      this.#waiting.splice(at, 1)
      return
    }
    const before = this.#waiting[at - 1]
    const frames = dropped + (before?.type === 'silence' ? before.frames : 0)
    const rest = { ...oldest, bytes: oldest.bytes.subarray(dropped * this.terms.frameBytes) }
    const from = before?.type === 'silence' ? at - 1 : at
    if (from === at) this.#silences += 1
    const isWhole = dropped >= this.countOf(oldest)
    this.#waiting.splice(from, at - from + 1, { type: 'silence', frames }, ...(isWhole ? [] : [rest]))
  }

  clear(): void {
    this.#waiting = []
    this.#count = 0
    this.#silences = 0
  }

  #takeSilence(frames: number, room: number): Taken {
    const { silence, frameBytes } = this.terms
    const count = Math.min(frames, room, silence.length / frameBytes)
    if (count === frames) {
      this.#waiting.shift()
      this.#silences -= 1
    } else this.#waiting[0] = { type: 'silence', frames: frames - count }
    return { item: { type: 'audio', bytes: silence.subarray(0, count * frameBytes) }, count }
  }

  /** The first frames of what waits first; the rest stays there. */
  #cut(first: NodeItem, count: number): NodeItem {
    if (first.type === 'event') return first
    const bytes = count * this.terms.frameBytes
    this.#waiting[0] = { ...first, bytes: first.bytes.subarray(bytes) }
    return { ...first, bytes: first.bytes.subarray(0, bytes) }
  }
}
