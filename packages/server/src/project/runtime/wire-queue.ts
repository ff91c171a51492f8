import type { NodeItem } from '../../nodes/core/node.js'
import type { WireOptions } from './wire-options.js'

/** An item that waits, or the silence that replaces dropped audio. */
type Waiting = NodeItem | { readonly type: 'silence'; readonly frames: number }

/** An item that was taken from the queue, and its length in frames or events. */
export interface Taken {
  readonly item: NodeItem
  readonly count: number
}

/**
 * The items that wait in a wire, oldest first. Audio can be split at any frame. Silence takes the place of dropped
 * audio and does not count.
 */
export class WireQueue {
  readonly #frameBytes: number
  readonly #silence: Uint8Array
  #waiting: Waiting[] = []
  #count = 0
  #silences = 0

  constructor({ frameBytes, silence }: Pick<WireOptions, 'frameBytes' | 'silence'>) {
    this.#frameBytes = frameBytes
    this.#silence = silence
  }

  /** Frames or events that wait, without silence. */
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
    return item.type === 'audio' ? item.bytes.length / this.#frameBytes : 1
  }

  push(item: NodeItem, count: number): void {
    this.#waiting.push(item)
    this.#count += count
  }

  /** Appends silence; consecutive silence is joined. */
  pushSilence(frames: number): void {
    const last = this.#waiting.at(-1)
    if (last?.type === 'silence') {
      this.#waiting[this.#waiting.length - 1] = { type: 'silence', frames: last.frames + frames }
      return
    }
    this.#silences += 1
    this.#waiting.push({ type: 'silence', frames })
  }

  /** Takes the oldest item, at most `maxFrames` frames of audio or silence. */
  take(maxFrames: number): Taken | undefined {
    const [first] = this.#waiting
    if (first === undefined || maxFrames <= 0) return undefined
    if (first.type === 'silence') return this.#takeSilence(first.frames, maxFrames)
    const length = this.countOf(first)
    const item = length > maxFrames ? this.#split(first, maxFrames) : first
    if (item === first) this.#waiting.shift()
    const count = item === first ? length : maxFrames
    this.#count -= count
    return { item, count }
  }

  /** How much of `excess` the oldest item can give up: an event as a whole, audio in frames. */
  oldest(excess: number): number {
    const oldest = this.#waiting.find(({ type }) => type !== 'silence')
    return oldest === undefined || oldest.type === 'silence' ? 0 : Math.min(this.countOf(oldest), Math.ceil(excess))
  }

  /** Drops as much of the oldest item as `oldest` returned. Dropped audio joins the silence before it. */
  dropOldest(dropped: number): void {
    const index = this.#waiting.findIndex(({ type }) => type !== 'silence')
    const oldest = this.#waiting[index]
    if (oldest === undefined || oldest.type === 'silence') return
    this.#count -= dropped
    if (oldest.type === 'event') {
      this.#waiting.splice(index, 1)
      return
    }
    const before = this.#waiting[index - 1]
    const frames = dropped + (before?.type === 'silence' ? before.frames : 0)
    const rest = { ...oldest, bytes: oldest.bytes.subarray(dropped * this.#frameBytes) }
    const start = before?.type === 'silence' ? index - 1 : index
    if (start === index) this.#silences += 1
    const isWhole = dropped >= this.countOf(oldest)
    this.#waiting.splice(start, index - start + 1, { type: 'silence', frames }, ...(isWhole ? [] : [rest]))
  }

  clear(): void {
    this.#waiting = []
    this.#count = 0
    this.#silences = 0
  }

  #takeSilence(frames: number, maxFrames: number): Taken {
    const count = Math.min(frames, maxFrames, this.#silence.length / this.#frameBytes)
    if (count === frames) {
      this.#waiting.shift()
      this.#silences -= 1
    } else this.#waiting[0] = { type: 'silence', frames: frames - count }
    return { item: { type: 'audio', bytes: this.#silence.subarray(0, count * this.#frameBytes) }, count }
  }

  /** The first frames of the oldest item; the rest stays in the queue. */
  #split(first: NodeItem, frames: number): NodeItem {
    if (first.type === 'event') return first
    const bytes = frames * this.#frameBytes
    this.#waiting[0] = { ...first, bytes: first.bytes.subarray(bytes) }
    return { ...first, bytes: first.bytes.subarray(0, bytes) }
  }
}
