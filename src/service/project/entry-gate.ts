import type { NodeItem } from '../nodes/core/node.js'

/**
 * Where the session's audio waits while a wire is full: what the link still delivers after it was paused, and no more.
 * Long messages are cut, so that a wire never gets much more at a time than it may hold.
 */
export class EntryGate {
  #waiting: NodeItem[] = []

  /** `pieceBytes` are whole frames. */
  constructor(private readonly pieceBytes: number) {}

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Whether the item can go on as it is. */
  lets(item: NodeItem): boolean {
    return this.isEmpty && (item.type === 'event' || item.bytes.length <= this.pieceBytes)
  }

  push(item: NodeItem): void {
    this.#waiting.push(item)
  }

  /** The next piece. */
  shift(): NodeItem | undefined {
    const [first] = this.#waiting
    if (first?.type !== 'audio' || first.bytes.length <= this.pieceBytes) return this.#waiting.shift()
    this.#waiting[0] = { ...first, bytes: first.bytes.subarray(this.pieceBytes) }
    return { ...first, bytes: first.bytes.subarray(0, this.pieceBytes) }
  }

  clear(): void {
    this.#waiting = []
  }
}
