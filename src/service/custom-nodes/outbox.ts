import type { NodeItem } from '../nodes/core/node.js'

const itemsAtOnce = 256

/** What a node may have said and nobody heard yet. Beyond it the node floods. */
const maxWaitingItems = 10_000
const maxWaitingBytes = 16 * 1024 * 1024

export interface OutboxEvents {
  readonly say: (items: readonly NodeItem[]) => void
  readonly flooded: () => void
  /** Everything is said, and no more will come. */
  readonly empty: () => void
}

/** What a node says goes over in messages of some items, the next when the one before was heard. */
export class Outbox {
  readonly #events: OutboxEvents
  #waiting: NodeItem[] = []
  #waitingBytes = 0
  #isUnheard = false
  #isDue = false
  #state: 'open' | 'closed' | 'flooded' = 'open'

  constructor(events: OutboxEvents) {
    this.#events = events
  }

  push(item: NodeItem): void {
    if (this.#state !== 'open') return
    this.#waiting.push(item)
    if (item.type === 'audio') this.#waitingBytes += item.bytes.length
    if (this.#waiting.length > maxWaitingItems || this.#waitingBytes > maxWaitingBytes) {
      this.#state = 'flooded'
      this.#waiting = []
      this.#events.flooded()
    } else if (!this.#isDue) {
      // What is said at once goes over at once.
      this.#isDue = true
      queueMicrotask(() => {
        this.#isDue = false
        this.#flush()
      })
    }
  }

  heard(): void {
    this.#isUnheard = false
    this.#flush()
  }

  /** No more will be pushed; when all is heard it is empty. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closed'
    this.#flush()
  }

  #flush(): void {
    if (this.#isUnheard) return
    if (this.#waiting.length === 0) {
      if (this.#state === 'closed') this.#events.empty()
      return
    }
    const items = this.#waiting.splice(0, itemsAtOnce)
    for (const item of items) if (item.type === 'audio') this.#waitingBytes -= item.bytes.length
    this.#isUnheard = true
    this.#events.say(items)
  }
}
