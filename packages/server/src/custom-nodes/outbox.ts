import type { NodeItem } from '../nodes/core/node.js'

const maxItemsPerMessage = 256

/** How much output of a node may wait. Beyond that the node floods. */
const maxWaitingItems = 10_000
const maxWaitingBytes = 16 * 1024 * 1024

export interface OutboxEvents {
  readonly send: (items: readonly NodeItem[]) => void
  readonly flooded: () => void
  /** The outbox was closed and everything is delivered. */
  readonly empty: () => void
}

/** Sends a node's output in messages of several items, each after the message before it was delivered. */
export class Outbox {
  readonly #events: OutboxEvents
  #waiting: NodeItem[] = []
  #waitingBytes = 0
  #isSending = false
  #isScheduled = false
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
    } else if (!this.#isScheduled) {
      // Items that are emitted together share a message.
      this.#isScheduled = true
      queueMicrotask(() => {
        this.#isScheduled = false
        this.#flush()
      })
    }
  }

  /** The last message was delivered. */
  delivered(): void {
    this.#isSending = false
    this.#flush()
  }

  /** Nothing more is pushed. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closed'
    this.#flush()
  }

  #flush(): void {
    if (this.#isSending) return
    if (this.#waiting.length === 0) {
      if (this.#state === 'closed') this.#events.empty()
      return
    }
    const items = this.#waiting.splice(0, maxItemsPerMessage)
    for (const item of items) if (item.type === 'audio') this.#waitingBytes -= item.bytes.length
    this.#isSending = true
    this.#events.send(items)
  }
}
