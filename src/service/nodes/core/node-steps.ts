import { Observable, type OperatorFunction } from 'rxjs'
import type { NodeItem } from './node.js'

/** What a node does with one item after the other: state of one subscription. */
export interface ItemSteps {
  readonly take: (item: NodeItem) => readonly NodeItem[]
  /** What is still to be said when the input completes. */
  readonly end?: () => readonly NodeItem[]
  /** Gives back what the steps hold, however they end. Called once. */
  readonly free?: () => void
}

/**
 * Runs the steps of a node that answers at once. `open` is called for each subscription. What comes in while an answer is
 * being told waits for its turn, so that answers keep the order of the items; what waits is as much as the subscriber
 * sends back by itself. Completes after `end`; errors of the source and of the steps pass through.
 */
export const stepItems =
  (open: () => ItemSteps): OperatorFunction<NodeItem, NodeItem> =>
  (source$) =>
    new Observable((subscriber) => {
      const steps = open()
      let waiting: NodeItem[] = []
      let busy = false
      let sourceDone = false
      const tell = (items: readonly NodeItem[]): void => {
        for (const item of items) {
          if (subscriber.closed) return
          subscriber.next(item)
        }
      }
      const work = (): void => {
        if (busy) return
        busy = true
        try {
          while (waiting.length > 0 && !subscriber.closed) {
            const items = waiting
            waiting = []
            for (const item of items) tell(subscriber.closed ? [] : steps.take(item))
          }
          busy = false
          if (!sourceDone || subscriber.closed) return
          tell(steps.end?.() ?? [])
          subscriber.complete()
        } catch (error) {
          subscriber.error(error)
        }
      }
      if (steps.free !== undefined) subscriber.add(steps.free)
      subscriber.add(
        source$.subscribe({
          next: (item) => {
            waiting.push(item)
            work()
          },
          error: (error: unknown) => {
            subscriber.error(error)
          },
          complete: () => {
            sourceDone = true
            work()
          },
        }),
      )
    })

/** An event on the node's first event port. */
export const eventItem = (event: Extract<NodeItem, { type: 'event' }>['event']): NodeItem => ({ type: 'event', event })
