import { type AudioFormat } from '../../audio/format.js'
import type { EventEnvelope } from '../../protocol/dataflow-events.js'
import type { NodeContext, Node } from '../nodes/core/node.js'
import { BoundedWire } from './bounded-wire.js'
import type { GraphFormats, NodeFormats } from './graph-formats.js'
import type { GraphSession } from './graph-session.js'
import { droppedEvent, wireLoss, wireTerms } from './graph-wire.js'
import type { GraphNode, GraphWire } from './project-graph.js'
import type { SupervisedNode } from './supervise-node.js'
import type { Drops } from './wire-policy.js'

export interface OpenedNode {
  readonly node: GraphNode
  readonly formats: NodeFormats
  readonly context: NodeContext
  readonly open: Node
}

/** A wire at work, and whom it leads to. */
export interface LiveWire {
  readonly wire: GraphWire
  readonly format: AudioFormat | undefined
  readonly bounded: BoundedWire
  readonly sampleRateHz: number
  readonly to: LiveNode
  isFinished: boolean
  isListed: boolean
}

export interface LiveNode {
  readonly opened: OpenedNode
  readonly supervisor: SupervisedNode
  readonly firstInput: string | undefined
  readonly inputs: LiveWire[]
  openInputs: number
}

/**
 * The wires between the nodes of a session: which lead where, which have something to be taken from them, in the order in
 * which they were given it, and how many are full.
 */
export class LiveWires {
  readonly #nodes: ReadonlyMap<string, LiveNode>
  readonly #session: GraphSession
  readonly #tell: (event: EventEnvelope) => void
  readonly #from = new Map<string, LiveWire[]>()
  #listed: LiveWire[] = []
  #blocked = 0

  /** `tell` is told of what a wire dropped. */
  constructor(nodes: ReadonlyMap<string, LiveNode>, session: GraphSession, tell: (event: EventEnvelope) => void) {
    this.#nodes = nodes
    this.#session = session
    this.#tell = tell
  }

  connect(wire: GraphWire, formats: GraphFormats): void {
    const to = this.#nodes.get(wire.to.node)
    if (to === undefined) return
    const format = wire.kind === 'audio' ? formats.byNode.get(wire.from.node)?.outputs[wire.from.port] : undefined
    const bounded = new BoundedWire(wireTerms(wire, format, this.#session.limits.maxPendingAudioMs), {
      blocked: (isBlocked) => {
        this.#blocked += isBlocked ? 1 : -1
        if (isBlocked) this.#session.feeder.pause()
      },
      dropped: (drops) => {
        this.#dropped(live, drops)
      },
    })
    const sampleRateHz = format?.sampleRateHz ?? 1
    const live: LiveWire = { wire, format, bounded, to, isFinished: false, isListed: false, sampleRateHz }
    to.inputs.push(live)
    to.openInputs += 1
    this.#from.set(wire.from.node, [...this.from(wire.from.node), live])
  }

  from(node: string): readonly LiveWire[] {
    return this.#from.get(node) ?? []
  }

  /** There may be something to take from it. */
  list(live: LiveWire): void {
    if (live.isListed) return
    live.isListed = true
    this.#listed.push(live)
  }

  /** The next that there may be something to take from. */
  next(): LiveWire | undefined {
    const live = this.#listed.shift()
    if (live !== undefined) live.isListed = false
    return live
  }

  /** Nothing more is said by this node. */
  finish(from: string): void {
    for (const live of this.from(from)) {
      live.isFinished = true
      live.bounded.finish()
      this.list(live)
    }
  }

  /** A node has dealt with so much of what came to the port, its first where none is named. */
  consumed(node: string, count: number, port?: string): void {
    const live = this.#nodes.get(node)
    const name = port ?? live?.firstInput
    for (const one of live?.inputs ?? []) {
      if (one.wire.to.port !== name) continue
      one.bounded.consumed(count)
      this.list(one)
    }
  }

  /** Nothing is in flight to this node any more. */
  renew(node: string): void {
    for (const live of this.#nodes.get(node)?.inputs ?? []) {
      live.bounded.consumed(Number.MAX_SAFE_INTEGER)
      this.list(live)
    }
  }

  /** Nobody takes anything any more: what was dropped until then is counted. */
  cancel(): void {
    this.#listed = []
    for (const wires of this.#from.values()) for (const live of wires) this.#tellLoss(live)
  }

  /** Whether one of them is full, so that nothing is let in. */
  get isHeldBack(): boolean {
    return this.#blocked > 0
  }

  /** What the fullest wire of audio holds, in milliseconds. */
  get pendingMs(): number {
    let most = 0
    for (const { inputs } of this.#nodes.values()) {
      for (const { wire, bounded, sampleRateHz } of inputs) {
        if (wire.kind === 'audio') most = Math.max(most, (bounded.held * 1000) / sampleRateHz)
      }
    }
    return most
  }

  #dropped(live: LiveWire, drops: Drops): void {
    const { wire, format } = live
    const event = droppedEvent(wire, format, drops)
    this.#tellLoss(live)
    this.#session.log(wire.to.node, `A wire dropped (${drops.phase}).`, fieldsOf(event))
    this.#tell(event)
  }

  #tellLoss({ wire, bounded, format, to }: LiveWire): void {
    const loss = wireLoss(wire, to.opened.node.definition.name, format, bounded.takeLoss())
    if (loss !== undefined) this.#session.monitor?.dropped(loss)
  }
}

const fieldsOf = ({ data }: EventEnvelope): Readonly<Record<string, string | number>> =>
  data as Readonly<Record<string, string | number>>
