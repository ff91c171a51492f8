import type { Subscriber, Subscription } from 'rxjs'
import { bytesPerFrame } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { NodeFault } from '../nodes/core/node-fault.js'
import type { AnyNodeDefinition, NodeContext, NodeItem } from '../nodes/core/node.js'
import type { ResolvedHostOptions } from './custom-node-source.js'
import type { NodeWorker, StartNodeWorker } from './node-worker.js'
import type { FromNodeWorker, OpenMessage } from './worker-messages.js'

type State =
  | { readonly type: 'opening'; readonly resolve: () => void; readonly reject: (error: unknown) => void }
  /** Nobody has subscribed yet. */
  | { readonly type: 'opened' }
  | { readonly type: 'running'; readonly subscriber: Subscriber<NodeItem> }
  | { readonly type: 'over' }

/** What was posted and not dealt with yet: at most one message at a time, so that a thread which lags gets bigger ones. */
interface InFlight {
  readonly items: readonly NodeItem[]
  readonly sinceMs: number
}

/**
 * This side of one node in a thread. Items go over one message at a time; what comes meanwhile waits, and the wire
 * before the node bounds it by what is consumed. A message that is not dealt with within the budget ends the thread.
 */
export class WorkerRun {
  readonly #definition: AnyNodeDefinition
  readonly #context: NodeContext
  readonly #host: ResolvedHostOptions
  readonly #worker: NodeWorker
  #state: State = { type: 'opened' }
  #waiting: NodeItem[] = []
  #inFlight: InFlight | undefined
  #finished = false
  #watch: Subscription | undefined
  #updates: Subscription | undefined

  constructor(definition: AnyNodeDefinition, context: NodeContext, start: StartNodeWorker, host: ResolvedHostOptions) {
    this.#definition = definition
    this.#context = context
    this.#host = host
    this.#worker = start({
      message: (message) => this.#receive(message),
      ended: (cause) => this.#fail(new NodeFault('threw', 'The thread of the node ended.', { cause })),
    })
  }

  /** Resolves when the node's factory is done; rejects with `engine-failed` when it refuses or is late. */
  open(message: OpenMessage): Promise<void> {
    const opened = new Promise<void>((resolve, reject) => {
      this.#state = { type: 'opening', resolve, reject }
    })
    this.#watchFor(this.#host.openWithinMs, () => {
      this.#fail(new NodeFault('hung', 'The node was not ready in time.'))
    })
    this.#worker.post(message)
    return opened
  }

  start(subscriber: Subscriber<NodeItem>): void {
    if (this.#state.type !== 'opened') {
      subscriber.error(new SpeechError('internal', 'A node in a thread runs once; open it again.'))
      return
    }
    this.#watch?.unsubscribe()
    this.#watch = undefined
    this.#state = { type: 'running', subscriber }
    this.#updates = this.#context.updated$.subscribe(() => {
      this.#worker.post({
        type: 'update',
        settings: this.#context.settings(),
        callProperties: this.#context.callProperties(),
      })
    })
    this.#worker.post({ type: 'run' })
  }

  give(item: NodeItem): void {
    if (this.#state.type !== 'running' || this.#finished) return
    this.#waiting.push(item)
    this.#send()
  }

  /** No more input; what waits goes over first. */
  finish(): void {
    this.#finished = true
    this.#send()
  }

  /** Ends the thread, whatever it does. Idempotent. */
  close(): void {
    this.#state = { type: 'over' }
    this.#waiting = []
    this.#watch?.unsubscribe()
    this.#updates?.unsubscribe()
    this.#worker.terminate()
  }

  #send(): void {
    if (this.#state.type !== 'running' || this.#inFlight !== undefined) return
    if (this.#waiting.length === 0) {
      if (this.#finished) this.#worker.post({ type: 'finish' })
      return
    }
    const items = this.#waiting
    this.#waiting = []
    this.#inFlight = { items, sinceMs: this.#context.scheduler.now() }
    if (this.#watch === undefined) this.#watchBudget(this.#host.budgetMs)
    this.#worker.post({ type: 'items', items })
  }

  /** One timer for as many messages as there are within the budget. */
  #watchBudget(durationMs: number): void {
    this.#watchFor(durationMs, () => {
      this.#watch = undefined
      if (this.#inFlight === undefined) return
      const leftMs = this.#inFlight.sinceMs + this.#host.budgetMs - this.#context.scheduler.now()
      if (leftMs > 0) this.#watchBudget(leftMs)
      else this.#fail(new NodeFault('blocked', `The node took longer than ${this.#host.budgetMs} ms.`))
    })
  }

  #watchFor(durationMs: number, late: () => void): void {
    this.#watch = this.#context.scheduler.schedule(late, durationMs)
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
      case 'taken':
        this.#taken()
        return
      case 'consumed':
        if (state.type === 'running') this.#context.consumed(message.count, message.port)
        return
      case 'said':
        this.#said(message.items)
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
    this.#watch?.unsubscribe()
    this.#state = { type: 'opened' }
    // Another node of the project may refuse the session, and nobody subscribes then.
    this.#watchFor(this.#host.openWithinMs, () => this.close())
    resolve()
  }

  #refused(sentence: string): void {
    this.#fail(
      new SpeechError('engine-failed', 'A node of the project could not be made ready; tell the operator.', {
        cause: new Error(sentence),
      }),
    )
  }

  #taken(): void {
    const { items } = this.#inFlight ?? { items: [] }
    this.#inFlight = undefined
    if (this.#definition.tellsConsumption !== true) this.#consumed(items)
    this.#send()
  }

  #consumed(items: readonly NodeItem[]): void {
    const counts = new Map<string | undefined, number>()
    for (const { port, ...item } of items) {
      counts.set(port, (counts.get(port) ?? 0) + (item.type === 'event' ? 1 : this.#framesOf(item.bytes, port)))
    }
    for (const [port, count] of counts) this.#context.consumed(count, port)
  }

  #framesOf(bytes: Uint8Array, port: string | undefined): number {
    const { inputs } = this.#context
    const format = inputs[port ?? Object.keys(inputs)[0] ?? '']
    return format === undefined ? 0 : bytes.length / bytesPerFrame(format)
  }

  #said(items: readonly NodeItem[]): void {
    for (const item of items) {
      if (this.#state.type !== 'running') return
      this.#state.subscriber.next(item)
    }
    if (this.#state.type === 'running') this.#worker.post({ type: 'heard' })
  }

  #fail(error: unknown): void {
    const state = this.#state
    this.close()
    if (state.type === 'opening') state.reject(error)
    else if (state.type === 'running') state.subscriber.error(error)
  }
}
