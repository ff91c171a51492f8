import type { Subscriber, Subscription } from 'rxjs'
import { bytesPerFrame } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { type AnyNodeDefinition, type NodeContext, NodeFault, type NodeItem } from '../nodes/core/node.js'
import type { ResolvedCustomNodeOptions } from './custom-node-source.js'
import type { NodeWorker, StartNodeWorker } from './node-worker.js'
import type { FromNodeWorker, OpenMessage } from './worker-messages.js'

type State =
  | { readonly type: 'opening'; readonly resolve: () => void; readonly reject: (error: unknown) => void }
  /** Without a subscriber. */
  | { readonly type: 'opened' }
  | { readonly type: 'running'; readonly subscriber: Subscriber<NodeItem> }
  | { readonly type: 'over' }

/** The message that the thread processes. There is one at a time, so a slow thread gets larger messages. */
interface InFlight {
  readonly items: readonly NodeItem[]
  readonly sinceMs: number
}

/**
 * The side of the service for one node in a thread. Items that arrive while the thread processes a message wait for the
 * next one; the wire to the node bounds them, because it counts what is not acknowledged. A thread that takes longer
 * than `budgetMs` for a message is terminated.
 */
export class WorkerSession {
  readonly #definition: AnyNodeDefinition
  readonly #context: NodeContext
  readonly #options: ResolvedCustomNodeOptions
  readonly #worker: NodeWorker
  #state: State = { type: 'opened' }
  #waiting: NodeItem[] = []
  #inFlight: InFlight | undefined
  #isFinished = false
  #timer: Subscription | undefined
  #updates: Subscription | undefined

  constructor(
    definition: AnyNodeDefinition,
    context: NodeContext,
    start: StartNodeWorker,
    options: ResolvedCustomNodeOptions,
  ) {
    this.#definition = definition
    this.#context = context
    this.#options = options
    this.#worker = start({
      message: (message) => this.#receive(message),
      ended: (cause) => this.#fail(new NodeFault('threw', 'The thread of the node ended.', { cause })),
    })
  }

  /** Resolves when the node's factory has returned; rejects with `engine-failed` when it refuses or is too slow. */
  open(message: OpenMessage): Promise<void> {
    const opened = new Promise<void>((resolve, reject) => {
      this.#state = { type: 'opening', resolve, reject }
    })
    this.#schedule(this.#options.openWithinMs, () =>
      this.#fail(new NodeFault('hung', 'The node did not open in time.')),
    )
    this.#worker.post(message)
    return opened
  }

  start(subscriber: Subscriber<NodeItem>): void {
    if (this.#state.type !== 'opened') {
      subscriber.error(new SpeechError('internal', 'A node in a thread runs once; open it again.'))
      return
    }
    this.#timer?.unsubscribe()
    this.#timer = undefined
    this.#state = { type: 'running', subscriber }
    this.#updates = this.#context.updated$.subscribe(() => {
      const { settings, callProperties } = this.#context
      this.#worker.post({ type: 'update', settings: settings(), callProperties: callProperties() })
    })
    this.#worker.post({ type: 'run' })
  }

  give(item: NodeItem): void {
    if (this.#state.type !== 'running' || this.#isFinished) return
    this.#waiting.push(item)
    this.#send()
  }

  /** Completes the node's input after the waiting items. */
  finish(): void {
    this.#isFinished = true
    this.#send()
  }

  /** Terminates the thread. Idempotent. */
  close(): void {
    this.#state = { type: 'over' }
    this.#waiting = []
    this.#timer?.unsubscribe()
    this.#updates?.unsubscribe()
    this.#worker.terminate()
  }

  #send(): void {
    if (this.#state.type !== 'running' || this.#inFlight !== undefined) return
    if (this.#waiting.length === 0) {
      if (this.#isFinished) this.#worker.post({ type: 'finish' })
      return
    }
    const items = this.#waiting
    this.#waiting = []
    this.#inFlight = { items, sinceMs: this.#context.scheduler.now() }
    if (this.#timer === undefined) this.#scheduleBudget(this.#options.budgetMs)
    this.#worker.post({ type: 'input', items })
  }

  /** One timer serves all messages within the budget. */
  #scheduleBudget(delayMs: number): void {
    this.#schedule(delayMs, () => {
      this.#timer = undefined
      if (this.#inFlight === undefined) return
      const { budgetMs } = this.#options
      const remainingMs = this.#inFlight.sinceMs + budgetMs - this.#context.scheduler.now()
      if (remainingMs > 0) this.#scheduleBudget(remainingMs)
      else this.#fail(new NodeFault('blocked', `The node took longer than ${budgetMs} ms.`))
    })
  }

  #schedule(delayMs: number, act: () => void): void {
    this.#timer = this.#context.scheduler.schedule(act, delayMs)
  }

  #receive(message: FromNodeWorker): void {
    const state = this.#state
    switch (message.type) {
      case 'opened':
        if (state.type === 'opening') this.#opened(state.resolve)
        return
      case 'refused':
        this.#refused(message.message)
        return
      case 'processed':
        this.#processed()
        return
      case 'ack':
        if (state.type === 'running') this.#context.ack(message.count, message.port)
        return
      case 'output':
        this.#deliver(message.items)
        return
      case 'completed':
        if (state.type === 'running') state.subscriber.complete()
        return
      case 'failed':
        this.#fail(new NodeFault(message.kind, message.message))
        return
      case 'log':
        this.#context.log(message.message, message.fields)
    }
  }

  #opened(resolve: () => void): void {
    this.#timer?.unsubscribe()
    this.#state = { type: 'opened' }
    // When another node of the project refuses the session, nothing subscribes to this one.
    this.#schedule(this.#options.openWithinMs, () => this.close())
    resolve()
  }

  #refused(reason: string): void {
    const text = 'A node of the project could not be opened; tell the operator.'
    this.#fail(new SpeechError('engine-failed', text, { cause: new Error(reason) }))
  }

  #processed(): void {
    const { items } = this.#inFlight ?? { items: [] }
    this.#inFlight = undefined
    if (this.#definition.manualAck !== true) this.#ack(items)
    this.#send()
  }

  #ack(items: readonly NodeItem[]): void {
    const counts = new Map<string | undefined, number>()
    for (const { port, ...item } of items) {
      counts.set(port, (counts.get(port) ?? 0) + (item.type === 'event' ? 1 : this.#framesOf(item.bytes, port)))
    }
    for (const [port, count] of counts) this.#context.ack(count, port)
  }

  #framesOf(bytes: Uint8Array, port: string | undefined): number {
    const { inputs } = this.#context
    const format = inputs[port ?? Object.keys(inputs)[0] ?? '']
    return format === undefined ? 0 : bytes.length / bytesPerFrame(format)
  }

  #deliver(items: readonly NodeItem[]): void {
    for (const item of items) {
      if (this.#state.type !== 'running') return
      this.#state.subscriber.next(item)
    }
    if (this.#state.type === 'running') this.#worker.post({ type: 'delivered' })
  }

  #fail(error: unknown): void {
    const state = this.#state
    this.close()
    if (state.type === 'opening') state.reject(error)
    else if (state.type === 'running') state.subscriber.error(error)
  }
}
