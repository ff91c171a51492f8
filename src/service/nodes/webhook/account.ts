import { allChannels } from '../core/events.js'
import type { NodeItem } from '../core/node.js'
import { eventItem } from '../core/node-steps.js'
import type { Delivery } from './delivery.js'

const tell = (name: string, data: Readonly<Record<string, string | number>>): readonly NodeItem[] => [
  eventItem({ name, channel: allChannels, startMs: -1, endMs: -1, data }),
]

/**
 * How many events arrived and how many were lost. A failure is told as `Webhook Failed` when the first event of it is lost,
 * and not again until a batch was accepted; what was lost in all as `Webhook Ended` at the end, where anything was.
 */
export class DeliveryTally {
  #delivered = 0
  #lost = 0
  #underWay = 0
  #isFailing = false

  sent(eventCount: number): void {
    this.#underWay += eventCount
  }

  ended(eventCount: number, delivery: Delivery): readonly NodeItem[] {
    this.#underWay -= eventCount
    if (delivery.type === 'lost') return this.#lose(eventCount, delivery.reason, delivery.attempts)
    this.#delivered += eventCount
    this.#isFailing = false
    return []
  }

  /** Events for which there was no room. */
  dropped(eventCount: number): readonly NodeItem[] {
    return eventCount === 0 ? [] : this.#lose(eventCount, 'queue full', 0)
  }

  /** What waits still, and what was under way, is lost. */
  close(waitingCount: number): readonly NodeItem[] {
    const left = waitingCount + this.#underWay
    const failed = left === 0 ? [] : this.#lose(left, 'session over', 0)
    if (this.#lost === 0) return []
    return [...failed, ...tell('Webhook Ended', { Delivered: this.#delivered, Lost: this.#lost })]
  }

  #lose(eventCount: number, reason: string, attempts: number): readonly NodeItem[] {
    this.#lost += eventCount
    if (this.#isFailing) return []
    this.#isFailing = true
    return tell('Webhook Failed', { Reason: reason, Attempts: attempts, Lost: eventCount })
  }
}
