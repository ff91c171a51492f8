import { Subject, takeWhile, type Observable, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { type Node, type NodeContext, NodeFault, type NodeItem } from '../../nodes/core/node.js'

/** How many items a node may emit between two inputs. More is a flood. */
const maxOutputsPerInput = 10_000

export interface NodeCallEvents {
  readonly next: (item: NodeItem) => void
  readonly complete: () => void
  /** Called once; nothing follows it. */
  readonly fault: (error: unknown) => void
}

export interface NodeCallOptions {
  /** How long one call of the node may block the thread, in milliseconds. */
  readonly maxCallMs: number
  readonly scheduler: SchedulerLike
}

/**
 * One run of a node, from its subscription to its end or its first fault. A flood is cut at its 10,001st item; how long
 * a call took is known only when it returns.
 */
export class NodeCall {
  readonly #input$ = new Subject<NodeItem>()
  #subscription: Unsubscribable | undefined
  readonly #events: NodeCallEvents
  readonly #options: NodeCallOptions
  #outputs = 0
  #isOver = false
  #isCancelled = false

  constructor(events: NodeCallEvents, options: NodeCallOptions) {
    this.#events = events
    this.#options = options
  }

  start(node: Node, context: NodeContext): void {
    const startMs = this.#options.scheduler.now()
    this.#subscribe(node, context)
    this.#checkDuration(startMs)
  }

  give(item: NodeItem): void {
    this.#outputs = 0
    const startMs = this.#options.scheduler.now()
    this.#input$.next(item)
    this.#checkDuration(startMs)
  }

  /** Completes the input. */
  finish(): void {
    this.#outputs = 0
    const startMs = this.#options.scheduler.now()
    this.#input$.complete()
    this.#checkDuration(startMs)
  }

  /** Unsubscribes from the node; nothing is reported after that. */
  cancel(): void {
    this.#isOver = true
    this.#isCancelled = true
    this.#subscription?.unsubscribe()
  }

  #subscribe(node: Node, context: NodeContext): void {
    let output$: Observable<NodeItem>
    try {
      output$ = node(this.#input$.asObservable(), context)
    } catch (error) {
      this.#fault(error)
      return
    }
    const subscription = output$.pipe(takeWhile(() => !this.#isCancelled)).subscribe({
      next: (item) => {
        this.#outputs += 1
        if (this.#outputs <= maxOutputsPerInput) this.#events.next(item)
        else this.#fault(new NodeFault('flooded', `It emitted more than ${maxOutputsPerInput} items at a time.`))
      },
      complete: () => {
        if (this.#isOver) return
        this.#isOver = true
        this.#events.complete()
      },
      error: (error: unknown) => this.#fault(error),
    })
    this.#subscription = subscription
    // It may have been cancelled within that call.
    if (this.#isCancelled) subscription.unsubscribe()
  }

  #checkDuration(startMs: number): void {
    const { scheduler, maxCallMs } = this.#options
    const tookMs = scheduler.now() - startMs
    if (tookMs <= maxCallMs) return
    this.#fault(new NodeFault('blocked', `It blocked its thread for ${tookMs} ms; ${maxCallMs} ms are allowed.`))
  }

  #fault(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    // Still subscribed: when the fault ends the session, the node can emit its last items.
    this.#events.fault(error)
    this.cancel()
  }
}
