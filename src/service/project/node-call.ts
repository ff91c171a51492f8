import { Subject, takeUntil, type Observable, type SchedulerLike } from 'rxjs'
import { NodeFault } from '../nodes/core/node-fault.js'
import type { Node, NodeContext, NodeItem } from '../nodes/core/node.js'

/** The most that a node may say from one input to the next, or after the last one. More is a flood. */
export const maxOutputsPerInput = 10_000

export interface CallListener {
  readonly next: (item: NodeItem) => void
  /** The node has said all it had to say. */
  readonly complete: () => void
  readonly fault: (error: unknown) => void
}

export interface CallTerms {
  /** How long the node may hold up its thread at a time, in milliseconds. */
  readonly maxCallMs: number
  readonly scheduler: SchedulerLike
}

/**
 * One life of a node: from its subscription to its end or its first fault, of which one is told, after which nothing
 * is. A flood is cut at its 10,001st item; how long a call took is known when it is over.
 */
export class NodeCall {
  readonly #input$ = new Subject<NodeItem>()
  readonly #end$ = new Subject<undefined>()
  readonly #listener: CallListener
  readonly #terms: CallTerms
  #said = 0
  #isOver = false

  constructor(listener: CallListener, terms: CallTerms) {
    this.#listener = listener
    this.#terms = terms
  }

  start(node: Node, context: NodeContext): void {
    this.#timed(() => {
      this.#run(node, context)
    })
  }

  give(item: NodeItem): void {
    this.#said = 0
    // As `#timed`, without a function for every item.
    const { scheduler, maxCallMs } = this.#terms
    const beginMs = scheduler.now()
    this.#input$.next(item)
    if (scheduler.now() - beginMs > maxCallMs) this.#blocked(scheduler.now() - beginMs)
  }

  /** There is no more input. */
  finish(): void {
    this.#said = 0
    this.#timed(() => {
      this.#input$.complete()
    })
  }

  /** Ends the node without a word. */
  cancel(): void {
    this.#isOver = true
    this.#end$.next(undefined)
  }

  #run(node: Node, context: NodeContext): void {
    let output$: Observable<NodeItem>
    try {
      output$ = node(this.#input$.asObservable(), context)
    } catch (error) {
      this.#fault(error)
      return
    }
    output$.pipe(takeUntil(this.#end$)).subscribe({
      next: (item) => {
        this.#said += 1
        if (this.#said <= maxOutputsPerInput) this.#listener.next(item)
        else this.#fault(new NodeFault('flooded', `It said more than ${maxOutputsPerInput} items at a time.`))
      },
      complete: () => {
        if (this.#isOver) return
        this.#isOver = true
        this.#listener.complete()
      },
      error: (error: unknown) => {
        this.#fault(error)
      },
    })
  }

  #timed(call: () => void): void {
    const { scheduler, maxCallMs } = this.#terms
    const beginMs = scheduler.now()
    call()
    if (scheduler.now() - beginMs > maxCallMs) this.#blocked(scheduler.now() - beginMs)
  }

  #blocked(tookMs: number): void {
    const { maxCallMs } = this.#terms
    this.#fault(new NodeFault('blocked', `It held up its thread for ${tookMs} ms; it may take ${maxCallMs} ms.`))
  }

  #fault(error: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    // A node that a session ends by may have a last word, of which it learns from here.
    this.#listener.fault(error)
    this.cancel()
  }
}
