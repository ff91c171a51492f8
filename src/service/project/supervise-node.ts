import { Subscription, type SchedulerLike } from 'rxjs'
import { bytesForMs } from '../../audio/format.js'
import { isNodeFault, NodeFault, type FaultKind } from '../nodes/core/node-fault.js'
import type { FaultPolicy, Node, NodeContext, NodeItem } from '../nodes/core/node.js'
import { AudioAccount } from './audio-account.js'
import { bypassOf } from './bypass.js'
import type { NodeFormats } from './graph-formats.js'
import { NodeCall, type CallTerms } from './node-call.js'
import type { GraphNode } from './project-graph.js'
import { silenceIn } from './silence.js'

/** What became of a node that failed. */
export interface NodeFailure {
  readonly node: string
  readonly cause: FaultKind
  readonly action: 'failed' | 'restarted' | 'bypassed'
  /** 1 for the first fault of the node in this session. */
  readonly attempt: number
  /** For the operator. */
  readonly error: unknown
}

export interface SupervisorListener {
  readonly next: (item: NodeItem, port: string) => void
  readonly complete: () => void
  readonly failed: (failure: NodeFailure) => void
  /** The node takes input again. */
  readonly ready: () => void
}

export interface SupervisorTerms extends CallTerms {
  /** How long the node may take to say its last, and to be opened anew, in milliseconds. */
  readonly finishWithinMs: number
  readonly scheduler: SchedulerLike
}

type State = { readonly name: 'running'; readonly call: NodeCall } | { readonly name: 'opening' | 'bypassed' | 'ended' }

/** More than this is not filled with silence: a node that holds back so much was not passing audio on. */
const longestFillMs = 5_000

/** Runs one node of a session by its policy: what it does wrong ends here. */
export class SupervisedNode {
  readonly #account: AudioAccount
  readonly #bypass: ReadonlyMap<string, readonly string[]>
  readonly #firstPorts: Readonly<Record<NodeItem['type'], string>>
  #state: State = { name: 'opening' }
  #timer = Subscription.EMPTY
  #attempts = 0
  #isFinishing = false

  constructor(
    private readonly node: GraphNode,
    private readonly context: NodeContext,
    formats: NodeFormats,
    private readonly terms: SupervisorTerms,
    private readonly listener: SupervisorListener,
  ) {
    const { inputs, outputs } = node.definition
    this.#account = new AudioAccount(formats)
    this.#bypass = bypassOf(node.definition, formats)
    const first = (kind: NodeItem['type']): string =>
      Object.keys(outputs).find((port) => outputs[port] === kind) ?? kind
    this.#firstPorts = { audio: first('audio'), event: first('event') }
    this.firstInputs = {
      audio: Object.keys(inputs).find((port) => inputs[port] === 'audio'),
      event: Object.keys(inputs).find((port) => inputs[port] === 'event'),
    }
  }

  /** The ports that an item without a port comes in by. */
  readonly firstInputs: Readonly<Record<NodeItem['type'], string | undefined>>

  /** Whether it can be given something now; while it is opened anew it cannot. */
  get takesInput(): boolean {
    return this.#state.name !== 'opening'
  }

  get isBypassed(): boolean {
    return this.#state.name === 'bypassed'
  }

  get hasEnded(): boolean {
    return this.#state.name === 'ended'
  }

  start(node: Node, context = this.context): void {
    const call = new NodeCall(
      {
        next: (item) => {
          this.#say(item, item.port ?? this.#firstPorts[item.type])
        },
        complete: () => {
          this.#end()
        },
        fault: (error) => {
          this.#fault(error)
        },
      },
      this.terms,
    )
    this.#state = { name: 'running', call }
    call.start(node, context)
    if (this.#isFinishing) this.#finishCall()
  }

  /** An item for the port, whose name it bears where that is not the first of its kind. */
  give(item: NodeItem, port: string): void {
    const state = this.#state
    if (state.name === 'running') {
      this.#account.given(item, port)
      state.call.give(item)
    } else if (state.name === 'bypassed') {
      for (const output of this.#bypass.get(port) ?? []) this.listener.next(item, output)
    }
  }

  /** No more input: the node says its last, and has so long for it. */
  finish(): void {
    if (this.#isFinishing || this.hasEnded) return
    this.#isFinishing = true
    if (this.#state.name === 'bypassed') this.#end()
    else if (this.#state.name === 'running') this.#finishCall()
  }

  /** What the node has said cannot be held any more. */
  flooded(message: string): void {
    if (this.#state.name === 'running') this.#fault(new NodeFault('flooded', message))
  }

  cancel(): void {
    const state = this.#state
    this.#state = { name: 'ended' }
    this.#timer.unsubscribe()
    if (state.name === 'running') state.call.cancel()
  }

  #say(item: NodeItem, port: string): void {
    this.#account.said(item, port)
    this.listener.next(item, port)
  }

  #finishCall(): void {
    this.#watch('It did not say its last in time.')
    if (this.#state.name === 'running') this.#state.call.finish()
  }

  #watch(message: string): void {
    this.#timer.unsubscribe()
    this.#timer = this.terms.scheduler.schedule(() => {
      this.#fault(new NodeFault('hung', message))
    }, this.terms.finishWithinMs)
  }

  #end(): void {
    if (this.hasEnded) return
    this.#state = { name: 'ended' }
    this.#timer.unsubscribe()
    this.listener.complete()
  }

  #fault(error: unknown): void {
    if (this.hasEnded) return
    this.#timer.unsubscribe()
    this.#attempts += 1
    const action = this.#action(this.node.onFault)
    const cause = isNodeFault(error) ? error.kind : 'threw'
    const before = this.#state
    this.#state = action === 'restarted' ? { name: 'opening' } : { name: 'bypassed' }
    this.listener.failed({ node: this.node.id, cause, action, attempt: this.#attempts, error })
    if (before.name === 'running') before.call.cancel()
    // Whoever was told may have ended everything.
    if (this.hasEnded) return
    if (action === 'failed') this.cancel()
    else if (action === 'restarted') this.#openAnew()
    else {
      this.#fill()
      if (this.#isFinishing) this.#end()
      else this.listener.ready()
    }
  }

  #action(policy: FaultPolicy): NodeFailure['action'] {
    if (policy === 'fail') return 'failed'
    if (policy === 'bypass') return 'bypassed'
    if (this.#attempts > policy.restarts) return 'failed'
    // Opened anew it would have nothing to say: all of its input has gone.
    return this.#isFinishing ? 'bypassed' : 'restarted'
  }

  #openAnew(): void {
    const attempt = this.#attempts
    const isCurrent = (): boolean => this.#state.name === 'opening' && this.#attempts === attempt
    this.#watch('It could not be opened anew in time.')
    const context: NodeContext = { ...this.context, offsetMs: Math.round(this.#account.givenMs) }
    this.node.configured.open(context).then(
      (node) => {
        if (!isCurrent()) return
        this.#timer.unsubscribe()
        this.#fill()
        this.start(node, context)
        this.listener.ready()
      },
      (error: unknown) => {
        if (isCurrent()) this.#fault(error)
      },
    )
  }

  /** Puts silence where the fault has cost audio. */
  #fill(): void {
    for (const { port, owedMs } of this.#account.owed) {
      const format = this.context.outputs[port]
      if (format === undefined || owedMs > longestFillMs) continue
      for (const bytes of silenceIn(format, bytesForMs(format, Math.max(0, owedMs)))) {
        this.#say({ type: 'audio', bytes }, port)
      }
    }
  }
}
