import { Subscription, type Observable, type Subject, type Subscriber } from 'rxjs'
import { bytesForMs, bytesPerFrame, msForBytes, type AudioFormat } from '../../audio/format.js'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import type { EventEnvelope } from '../../protocol/event-envelope.js'
import type { Node, NodeContext, NodeItem } from '../nodes/node.js'
import { IdleWatch } from '../recognition/idle-watch.js'
import { BoundedWire } from './bounded-wire.js'
import { EntryGate } from './entry-gate.js'
import { entryName, publisherName, type GraphFormats, type NodeFormats } from './graph-formats.js'
import type { GraphSession } from './graph-session.js'
import { droppedEvent, portText, wireLoss, wireTerms } from './graph-wire.js'
import type { GraphNode, GraphWire, ProjectGraph } from './project-graph.js'
import { SupervisedNode, type NodeFailure } from './supervise-node.js'

export interface OpenedNode {
  readonly node: GraphNode
  readonly formats: NodeFormats
  readonly context: NodeContext
  readonly open: Node
}

/** A wire at work, and whom it leads to. */
interface LiveWire {
  readonly wire: GraphWire
  readonly format: AudioFormat | undefined
  readonly bounded: BoundedWire
  readonly sampleRateHz: number
  readonly to: LiveNode
  isFinished: boolean
  isListed: boolean
}

interface LiveNode {
  readonly opened: OpenedNode
  readonly supervisor: SupervisedNode
  readonly firstInput: string | undefined
  readonly inputs: LiveWire[]
  openInputs: number
}

/** The longest piece of audio that goes through the graph at a time, in milliseconds. */
const pieceMs = 250

/**
 * A graph at work for one session. What a node says goes into the wires behind it, and is taken from there when the node
 * has returned, one item after another: no node runs within another, whoever re-enters waits in line, and the time of
 * each call is the node's own.
 */
export class RunGraph {
  readonly #session: GraphSession
  readonly #subscriber: Subscriber<NodeItem>
  readonly #nodes = new Map<string, LiveNode>()
  readonly #wiresFrom = new Map<string, LiveWire[]>()
  readonly #gate: EntryGate
  readonly #idle: IdleWatch
  readonly #owned = new Subscription()
  readonly #entry: string
  #listed: LiveWire[] = []
  #isPumping = false
  readonly #brokenOff$: Subject<SpeechError>
  /** How the session ends that cannot go on, when what was said before has been delivered. */
  #lastWord: (() => void) | undefined
  #blocked = 0
  #entryState: 'open' | 'finished' | 'closed' = 'open'

  constructor(
    graph: ProjectGraph,
    nodes: readonly OpenedNode[],
    formats: GraphFormats,
    session: GraphSession,
    brokenOff$: Subject<SpeechError>,
    subscriber: Subscriber<NodeItem>,
  ) {
    this.#session = session
    this.#brokenOff$ = brokenOff$
    this.#subscriber = subscriber
    this.#entry = graph.nodes.find(({ definition }) => definition.name === entryName)?.id ?? ''
    this.#gate = new EntryGate(Math.max(bytesPerFrame(session.format), bytesForMs(session.format, pieceMs)))
    const { idleMs } = session.limits
    const rules = { closeAfterSilentWallMs: 0, finalizeAfterMs: idleMs, heldBack: () => this.isHeldBack }
    this.#idle = new IdleWatch(rules, session.context.scheduler)
    for (const opened of nodes) this.#nodes.set(opened.node.id, this.#liveNode(opened))
    for (const wire of graph.wires) this.#connect(wire, formats)
  }

  start(audio$: Observable<Uint8Array>): void {
    this.#isPumping = true
    for (const { supervisor, opened } of this.#nodes.values()) supervisor.start(opened.open)
    this.#isPumping = false
    this.#pump()
    if (this.#subscriber.closed) return
    this.#owned.add(
      this.#idle.ticks$.subscribe(() => {
        if (this.#idle.due === 'finalize') this.#finishEntry()
      }),
    )
    this.#owned.add(
      audio$.subscribe({
        next: (bytes) => {
          this.#audio(bytes)
        },
        complete: () => {
          this.#finishEntry()
        },
        error: (error: unknown) => {
          this.#subscriber.error(error)
        },
      }),
    )
  }

  /** Ends the session by this error, after what was said until now and what nodes say to it. */
  breakOff(error: SpeechError): void {
    this.#part(error, () => {
      this.#subscriber.error(error)
    })
  }

  cancel(): void {
    this.#entryState = 'closed'
    this.#gate.clear()
    this.#listed = []
    for (const wires of this.#wiresFrom.values()) for (const live of wires) this.#tellLoss(live)
    this.#owned.unsubscribe()
    for (const { supervisor } of this.#nodes.values()) supervisor.cancel()
    this.#session.feeder.resume()
  }

  /** A node has dealt with so much. */
  consumed(node: string, count: number, port?: string): void {
    const live = this.#nodes.get(node)
    const name = port ?? live?.firstInput
    for (const one of live?.inputs ?? []) {
      if (one.wire.to.port !== name) continue
      one.bounded.consumed(count)
      this.#list(one)
    }
    this.#idle.touch()
    this.#pump()
  }

  /** Whether nothing is let in until a wire has room. */
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

  #audio(bytes: Uint8Array): void {
    if (this.#entryState !== 'open') return
    this.#idle.receive(msForBytes(this.#session.format, bytes.length))
    const item: NodeItem = { type: 'audio', bytes }
    if (!this.#isPumping && this.#blocked === 0 && this.#gate.lets(item)) this.#say(this.#entry, item, 'audio')
    else this.#gate.push(item)
    this.#pump()
  }

  #finishEntry(): void {
    if (this.#entryState !== 'open') return
    this.#entryState = 'finished'
    this.#pump()
  }

  /** Takes from the wires what can be taken, and after that lets in what waits at the entry. Never runs within itself. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      while (!this.#subscriber.closed) {
        const live = this.#listed.shift()
        if (live !== undefined) this.#deliver(live)
        else if (this.#lastWord !== undefined) this.#lastWord()
        else if (!this.#letIn()) break
      }
    } finally {
      this.#isPumping = false
    }
  }

  #letIn(): boolean {
    if (this.#blocked > 0) return false
    const item = this.#gate.shift()
    if (item !== undefined) {
      this.#say(this.#entry, item, 'audio')
      return true
    }
    this.#session.feeder.resume()
    // A link may give what it held at once.
    if (!this.#gate.isEmpty) return true
    if (this.#entryState !== 'finished') return false
    this.#entryState = 'closed'
    this.#finishOutputs(this.#entry)
    // A node without inputs speaks until the session's audio ends.
    for (const { inputs, supervisor } of this.#nodes.values()) if (inputs.length === 0) supervisor.finish()
    return true
  }

  #deliver(live: LiveWire): void {
    live.isListed = false
    const { bounded, to, wire } = live
    const { supervisor, opened } = to
    if (!supervisor.takesInput) return
    const item = bounded.take()
    if (item !== undefined) {
      const { port } = wire.to
      const isFirst = supervisor.firstInputs[item.type] === port
      const given = isFirst && item.port === undefined ? item : labelled(item, isFirst ? undefined : port)
      supervisor.give(given, port)
      if (opened.node.definition.tellsConsumption !== true || supervisor.isBypassed)
        bounded.consumed(bounded.countOf(item))
      this.#list(live)
    } else if (live.isFinished && bounded.isEmpty) {
      live.isFinished = false
      to.openInputs -= 1
      if (to.openInputs === 0) supervisor.finish()
    }
  }

  #list(live: LiveWire): void {
    if (live.isListed) return
    live.isListed = true
    this.#listed.push(live)
  }

  /** What a node says goes to every wire of the port; what a publisher says, to the client. */
  #say(from: string, item: NodeItem, port: string): void {
    for (const live of this.#wiresFrom.get(from) ?? []) {
      if (live.wire.from.port !== port || live.wire.kind !== item.type) continue
      const offered = live.bounded.offer(item)
      if (offered === 'taken') this.#list(live)
      else this.#overflow(live, offered)
    }
  }

  #overflow({ wire }: LiveWire, offered: 'full' | 'flooded'): void {
    const name = `${portText(wire.from)} -> ${portText(wire.to)}`
    if (offered === 'full') this.breakOff(new SpeechError('node-failed', `The wire ${name} of the project is full.`))
    else this.#nodes.get(wire.from.node)?.supervisor.flooded(`It went on though the wire ${name} was full.`)
  }

  #finishOutputs(from: string): void {
    for (const live of this.#wiresFrom.get(from) ?? []) {
      live.isFinished = true
      live.bounded.finish()
      this.#list(live)
    }
  }

  #liveNode(opened: OpenedNode): LiveNode {
    const { node, context, formats } = opened
    const { limits, context: shared } = this.#session
    const isPublisher = node.definition.name === publisherName
    const supervisor = new SupervisedNode(
      node,
      context,
      formats,
      { ...limits, scheduler: shared.scheduler },
      {
        next: (item, port) => {
          if (isPublisher) this.#subscriber.next(item)
          else this.#say(node.id, item, port)
          this.#pump()
        },
        complete: () => {
          this.#nodeEnded(node.id)
        },
        failed: (failure) => {
          this.#nodeFailed(failure)
        },
        ready: () => {
          this.#renew(node.id)
        },
      },
    )
    return { opened, supervisor, firstInput: Object.keys(node.definition.inputs)[0], inputs: [], openInputs: 0 }
  }

  #connect(wire: GraphWire, formats: GraphFormats): void {
    const to = this.#nodes.get(wire.to.node)
    if (to === undefined) return
    const format = wire.kind === 'audio' ? formats.byNode.get(wire.from.node)?.outputs[wire.from.port] : undefined
    const bounded = new BoundedWire(wireTerms(wire, format, this.#session.limits.maxPendingAudioMs), {
      blocked: (isBlocked) => {
        this.#blocked += isBlocked ? 1 : -1
        if (isBlocked) this.#session.feeder.pause()
      },
      dropped: (drops) => {
        const event = droppedEvent(wire, format, drops)
        this.#tellLoss(live)
        this.#session.log(wire.to.node, `A wire dropped (${drops.phase}).`, fieldsOf(event))
        this.#tell(event)
      },
    })
    const live: LiveWire = {
      wire,
      format,
      bounded,
      to,
      isFinished: false,
      isListed: false,
      sampleRateHz: format?.sampleRateHz ?? 1,
    }
    to.inputs.push(live)
    to.openInputs += 1
    this.#wiresFrom.set(wire.from.node, [...(this.#wiresFrom.get(wire.from.node) ?? []), live])
  }

  #tellLoss({ wire, bounded, format, to }: LiveWire): void {
    const loss = wireLoss(wire, to.opened.node.definition.name, format, bounded.takeLoss())
    if (loss !== undefined) this.#session.monitor?.dropped(loss)
  }

  /** The node is there again, or left out: nothing is in flight any more. */
  #renew(id: string): void {
    for (const live of this.#nodes.get(id)?.inputs ?? []) {
      live.bounded.consumed(Number.MAX_SAFE_INTEGER)
      this.#list(live)
    }
    this.#pump()
  }

  #nodeEnded(id: string): void {
    for (const { bounded } of this.#nodes.get(id)?.inputs ?? []) bounded.drain()
    this.#finishOutputs(id)
    // That last word is said when all wires are empty.
    if (this.#lastWord !== undefined) return
    const nodes = [...this.#nodes.values()]
    if (nodes.every(({ supervisor }) => supervisor.hasEnded)) {
      this.#subscriber.complete()
      return
    }
    // With nobody left who tells the client anything, the rest is flushed.
    const publishers = nodes.filter(({ opened }) => opened.node.definition.name === publisherName)
    if (publishers.every(({ supervisor }) => supervisor.hasEnded)) this.#finishEntry()
    this.#pump()
  }

  #nodeFailed({ node, cause, action, attempt, error }: NodeFailure): void {
    const kind = this.#nodes.get(node)?.opened.node.definition.name ?? node
    this.#session.monitor?.nodeFailed({ node: kind, cause, action })
    this.#session.log(node, 'The node failed.', { cause, action, attempt })
    const event: EventEnvelope = {
      name: 'Node Failed',
      channel: -1,
      startMs: -1,
      endMs: -1,
      data: { Node: node, Cause: cause, Action: action, Attempt: attempt },
    }
    const text = `The node ${node} of the project failed (${cause}).`
    const failure = new SpeechError('node-failed', text, { cause: error })
    if (action !== 'failed') {
      this.#tell(event)
      this.#session.onFault?.(failure)
      return
    }
    // An engine's failure has a name of its own, and the node has told of it.
    if (isSpeechError(error) && error.code === 'engine-failed') {
      this.breakOff(error)
      return
    }
    this.#part(failure, () => {
      this.#tell(event)
      this.#subscriber.error(failure)
    })
  }

  #part(error: SpeechError, lastWord: () => void): void {
    if (this.#lastWord !== undefined) return
    this.#entryState = 'closed'
    this.#gate.clear()
    this.#lastWord = lastWord
    // All that nodes say to it goes into the wires before anything is taken from them.
    const wasPumping = this.#isPumping
    this.#isPumping = true
    this.#brokenOff$.next(error)
    this.#isPumping = wasPumping
    this.#pump()
  }

  #tell(event: EventEnvelope): void {
    this.#subscriber.next({ type: 'event', event })
  }
}

const labelled = (item: NodeItem, port: string | undefined): NodeItem => {
  const { port: _before, ...rest } = item
  return port === undefined ? rest : { ...rest, port }
}

const fieldsOf = ({ data }: EventEnvelope): Readonly<Record<string, string | number>> =>
  data as Readonly<Record<string, string | number>>
