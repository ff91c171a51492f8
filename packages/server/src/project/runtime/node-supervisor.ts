import { Subscription } from 'rxjs'
import { bytesForMs } from 'rxspeech/internal/audio/format'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { EventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import {
  type AnyNodeDefinition,
  type FaultPolicy,
  isNodeFault,
  type Node,
  type NodeContext,
  NodeFault,
  type NodeItem,
} from '../../nodes/core/node.js'
import { type NodeFormats, isSameFormat } from '../check/audio-formats.js'
import type { GraphNode } from '../format/project-graph.js'
import { AudioBalance, silenceOf } from './audio-balance.js'
import type { NodeFailure } from './graph-session.js'
import { NodeCall, type NodeCallOptions } from './node-call.js'
import type { Wire, WireTarget } from './wire.js'

export interface SupervisorOptions extends NodeCallOptions {
  /** How long the node may take to complete after its input completed, and to open again, in milliseconds. */
  readonly finishWithinMs: number
}

export interface SupervisorEvents {
  readonly next: (item: NodeItem, port: string) => void
  readonly complete: () => void
  readonly failed: (failure: NodeFailure) => void
  /** After a fault the node takes input again, or it is bypassed: nothing that it received is outstanding. */
  readonly ready: () => void
}

/** Before `start` and between two runs the node is `opening`. */
type State = { readonly name: 'running'; readonly call: NodeCall } | { readonly name: 'opening' | 'bypassed' | 'ended' }

/** A longer gap is not filled with silence: a node that held back so much did not pass audio on. */
const maxFillMs = 5_000

/** Runs one node of a session and applies its fault policy: no fault of the node leaves this class as an exception. */
export class NodeSupervisor implements WireTarget {
  readonly #node: GraphNode
  readonly #context: NodeContext
  readonly #options: SupervisorOptions
  readonly #events: SupervisorEvents
  readonly #balance: AudioBalance
  readonly #formats: NodeFormats
  /** Made when the node is bypassed. */
  #bypass: ReadonlyMap<string, readonly string[]> | undefined
  readonly #firstInputs: Readonly<Record<NodeItem['type'], string | undefined>>
  readonly #firstInput: string | undefined
  readonly #firstOutputs: Readonly<Record<NodeItem['type'], string>>
  readonly #inputs: Wire[] = []
  #openInputs = 0
  #opened: Node | undefined
  #state: State = { name: 'opening' }
  #timer = Subscription.EMPTY
  #attempts = 0
  #isFinishing = false

  constructor(
    node: GraphNode,
    context: NodeContext,
    formats: NodeFormats,
    options: SupervisorOptions,
    events: SupervisorEvents,
  ) {
    this.#node = node
    this.#context = context
    this.#options = options
    this.#events = events
    this.#balance = new AudioBalance(formats)
    this.#formats = formats
    const { inputs, outputs } = node.definition
    this.#firstInput = Object.keys(inputs)[0]
    this.#firstInputs = { audio: firstOf(inputs, 'audio'), event: firstOf(inputs, 'event') }
    this.#firstOutputs = { audio: firstOf(outputs, 'audio') ?? 'audio', event: firstOf(outputs, 'event') ?? 'event' }
  }

  get definition(): AnyNodeDefinition {
    return this.#node.definition
  }

  /** The wires that lead to the node. */
  get inputs(): readonly Wire[] {
    return this.#inputs
  }

  get takesInput(): boolean {
    return this.#state.name !== 'opening'
  }

  /** Nobody acknowledges the items of a bypassed node, so they are acknowledged when they are passed on. */
  get hasManualAck(): boolean {
    return this.#node.definition.manualAck === true && this.#state.name !== 'bypassed'
  }

  get hasEnded(): boolean {
    return this.#state.name === 'ended'
  }

  /** Adds a wire that leads to the node. */
  connect(wire: Wire): void {
    this.#inputs.push(wire)
    this.#openInputs += 1
  }

  /** Rejects with the node's own refusal, or with `node-failed` if it throws anything else. */
  async open(): Promise<void> {
    try {
      this.#opened = await this.#node.configured.open(this.#context)
    } catch (error) {
      if (isSpeechError(error)) throw error
      const message = `The node ${this.#node.id} of the project could not be opened.`
      throw new SpeechError('node-failed', message, { cause: error })
    }
  }

  /** The refusal of the open node for settings that an `Update` would set. */
  checkSettings(next: Settings): SpeechError | undefined {
    return this.#opened?.checkSettings?.(next)
  }

  start(): void {
    if (this.#opened !== undefined) this.#run(this.#opened, this.#context)
  }

  give(item: NodeItem, port: string): void {
    const state = this.#state
    if (state.name === 'running') {
      this.#balance.received(item, port)
      const label = this.#firstInputs[item.type] === port ? undefined : port
      state.call.give(item.port === label ? item : { ...item, port: label })
    } else if (state.name === 'bypassed') {
      this.#bypass ??= bypassRoutes(this.definition, this.#formats)
      for (const output of this.#bypass.get(port) ?? []) this.#events.next(item, output)
    }
  }

  /** The last wire that ends finishes the node. */
  endInput(): void {
    this.#openInputs -= 1
    if (this.#openInputs === 0) this.finish()
  }

  /** The node processed part of what a port received. */
  ack(count: number, port = this.#firstInput): void {
    for (const wire of this.#inputs) if (wire.options.to.port === port) wire.ack(count)
  }

  /** Completes the node's input; the node then has to complete in time. */
  finish(): void {
    if (this.#isFinishing || this.hasEnded) return
    this.#isFinishing = true
    if (this.#state.name === 'bypassed') this.#end()
    else if (this.#state.name === 'running') this.#finishCall(this.#state.call)
  }

  /** A wire cannot hold what the node emitted. */
  flooded(message: string): void {
    if (this.#state.name === 'running') this.#fault(new NodeFault('flooded', message))
  }

  cancel(): void {
    const state = this.#state
    this.#state = { name: 'ended' }
    this.#timer.unsubscribe()
    if (state.name === 'running') state.call.cancel()
  }

  #run(node: Node, context: NodeContext): void {
    const call = new NodeCall(
      {
        next: (item) => this.#emit(item, item.port ?? this.#firstOutputs[item.type]),
        complete: () => this.#end(),
        fault: (error) => this.#fault(error),
      },
      this.#options,
    )
    this.#state = { name: 'running', call }
    call.start(node, context)
    if (this.#isFinishing) this.#finishCall(call)
  }

  #emit(item: NodeItem, port: string): void {
    this.#balance.emitted(item, port)
    this.#events.next(item, port)
  }

  #finishCall(call: NodeCall): void {
    if (this.#state.name !== 'running' || this.#state.call !== call) return
    this.#setDeadline('It did not complete in time.')
    call.finish()
  }

  #setDeadline(message: string): void {
    this.#timer.unsubscribe()
    this.#timer = this.#options.scheduler.schedule(
      () => this.#fault(new NodeFault('hung', message)),
      this.#options.finishWithinMs,
    )
  }

  #end(): void {
    if (this.hasEnded) return
    this.#state = { name: 'ended' }
    this.#timer.unsubscribe()
    this.#events.complete()
  }

  #fault(error: unknown): void {
    if (this.hasEnded) return
    this.#timer.unsubscribe()
    this.#attempts += 1
    const action = this.#actionOf(this.#node.onFault)
    const cause = isNodeFault(error) ? error.kind : 'threw'
    const before = this.#state
    this.#state = action === 'restarted' ? { name: 'opening' } : { name: 'bypassed' }
    this.#events.failed({ node: this.#node.id, cause, action, attempt: this.#attempts, error })
    if (before.name === 'running') before.call.cancel()
    // The session may have ended meanwhile.
    if (this.hasEnded) return
    if (action === 'failed') this.cancel()
    else if (action === 'restarted') this.#openAgain()
    else {
      this.#fillGap()
      if (this.#isFinishing) this.#end()
      else this.#events.ready()
    }
  }

  #actionOf(policy: FaultPolicy): NodeFailure['action'] {
    if (policy === 'fail') return 'failed'
    if (policy === 'bypass') return 'bypassed'
    if (this.#attempts > policy.restarts) return 'failed'
    // All of its input is gone: opened again it would have nothing to process.
    return this.#isFinishing ? 'bypassed' : 'restarted'
  }

  #openAgain(): void {
    const attempt = this.#attempts
    const isCurrent = (): boolean => this.#state.name === 'opening' && this.#attempts === attempt
    this.#setDeadline('It could not be opened again in time.')
    const context: NodeContext = { ...this.#context, offsetMs: Math.round(this.#balance.receivedMs) }
    this.#node.configured.open(context).then(
      (node) => {
        if (!isCurrent()) return
        this.#timer.unsubscribe()
        this.#fillGap()
        this.#run(node, context)
        this.#events.ready()
      },
      (error: unknown) => {
        if (isCurrent()) this.#fault(error)
      },
    )
  }

  /** Emits silence for the audio that the fault has cost. */
  #fillGap(): void {
    for (const { port, missingMs } of this.#balance.missing) {
      const format = this.#context.outputs[port]
      if (format === undefined || missingMs > maxFillMs) continue
      for (const bytes of silenceOf(format, bytesForMs(format, Math.max(0, missingMs)))) {
        this.#emit({ type: 'audio', bytes }, port)
      }
    }
  }
}

const firstOf = (ports: AnyNodeDefinition['inputs'], kind: NodeItem['type']): string | undefined =>
  Object.keys(ports).find((port) => ports[port] === kind)

/** The event that reports a failed node to the client, whatever its fault policy (PROTOCOL 3.3). */
export const nodeFailedEvent = ({ node, cause, action, attempt }: NodeFailure): EventEnvelope => ({
  name: 'Node Failed',
  channel: -1,
  startMs: -1,
  endMs: -1,
  data: { Node: node, Cause: cause, Action: action, Attempt: attempt },
})

export const nodeFailedError = ({ node, cause, error }: NodeFailure): SpeechError =>
  new SpeechError('node-failed', `The node ${node} of the project failed (${cause}).`, { cause: error })

/**
 * The outputs that each input of a bypassed node leads to: every output gets the items of the first input of its kind,
 * of audio the first in the same format. The items of an input without outputs are discarded.
 */
const bypassRoutes = (
  { inputs, outputs }: Pick<AnyNodeDefinition, 'inputs' | 'outputs'>,
  formats: NodeFormats,
): ReadonlyMap<string, readonly string[]> => {
  const inputOf = (output: string): string | undefined =>
    Object.keys(inputs).find(
      (port) =>
        inputs[port] === outputs[output] &&
        (outputs[output] === 'event' || isSameFormat(formats.inputs[port], formats.outputs[output])),
    )
  return new Map(
    Object.keys(inputs).map((port) => [port, Object.keys(outputs).filter((output) => inputOf(output) === port)]),
  )
}
