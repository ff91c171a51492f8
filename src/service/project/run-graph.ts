import type { Observable, Subject, Subscriber } from 'rxjs'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import type { EventEnvelope } from '../../protocol/dataflow-events.js'
import { engineErrors } from '../nodes/speech/finals-on-failure.js'
import type { NodeItem } from '../nodes/core/node.js'
import { deliver } from './deliver.js'
import { GraphEntry } from './graph-entry.js'
import { entryName, publisherName, type GraphFormats } from './graph-formats.js'
import type { GraphSession } from './graph-session.js'
import { portText } from './graph-wire.js'
import { LiveWires, type LiveNode, type LiveWire, type OpenedNode } from './live-wires.js'
import { nodeFailedError, nodeFailedEvent } from './node-failure.js'
import type { ProjectGraph } from './project-graph.js'
import { SupervisedNode, type NodeFailure } from './supervise-node.js'

/** What the graph tells its nodes of the session's end. */
export interface GraphSignals {
  readonly aborted$: Subject<SpeechError>
  readonly drain$: Subject<undefined>
}

/**
 * A graph at work for one session. What a node says goes into the wires behind it, and is taken from there when the node
 * has returned, one item after another: no node runs within another, whoever re-enters waits in line, and the time of
 * each call is the node's own.
 */
export class RunGraph {
  readonly #session: GraphSession
  readonly #subscriber: Subscriber<NodeItem>
  readonly #nodes = new Map<string, LiveNode>()
  readonly #wires: LiveWires
  readonly #entry: GraphEntry
  readonly #entryNode: string
  readonly #signals: GraphSignals
  /** Whether the session is to end where nobody speaks; nodes are told behind the audio that came before. */
  #retiring: 'no' | 'asked' | 'told' = 'no'
  #isPumping = false
  /** How the session ends that cannot go on, when what was said before has been delivered. */
  #lastWord: (() => void) | undefined

  constructor(
    graph: ProjectGraph,
    nodes: readonly OpenedNode[],
    formats: GraphFormats,
    session: GraphSession,
    signals: GraphSignals,
    subscriber: Subscriber<NodeItem>,
  ) {
    this.#session = session
    this.#signals = signals
    this.#subscriber = subscriber
    this.#entryNode = graph.nodes.find(({ definition }) => definition.name === entryName)?.id ?? ''
    this.#entry = new GraphEntry(session, {
      mayPass: () => !this.#isPumping && !this.isHeldBack,
      isHeldBack: () => this.isHeldBack,
      pass: (item) => {
        this.#say(this.#entryNode, item, 'audio')
      },
      changed: () => {
        this.#pump()
      },
      failed: (error) => {
        this.#subscriber.error(error)
      },
    })
    for (const opened of nodes) this.#nodes.set(opened.node.id, this.#liveNode(opened))
    this.#wires = new LiveWires(this.#nodes, session, (event) => {
      this.#tell(event)
    })
    for (const wire of graph.wires) this.#wires.connect(wire, formats)
  }

  start(audio$: Observable<Uint8Array>): void {
    this.#isPumping = true
    for (const { supervisor, opened } of this.#nodes.values()) supervisor.start(opened.open)
    this.#isPumping = false
    this.#pump()
    if (!this.#subscriber.closed) this.#entry.start(audio$)
  }

  /** Ends the session by this error, after what was said until now and what nodes say to it. */
  breakOff(error: SpeechError): void {
    this.#part(error, () => {
      this.#subscriber.error(error)
    })
  }

  /** The nodes that `retire` end where nobody speaks; after the last of them the rest is flushed. */
  retire(): void {
    if (this.#retiring === 'no') this.#retiring = 'asked'
    this.#pump()
  }

  cancel(): void {
    this.#entry.close()
    this.#wires.cancel()
    this.#entry.release()
    for (const { supervisor } of this.#nodes.values()) supervisor.cancel()
    this.#session.feeder.resume()
  }

  /** A node has dealt with so much. */
  consumed(node: string, count: number, port?: string): void {
    this.#wires.consumed(node, count, port)
    this.#entry.touch()
    this.#pump()
  }

  /** Whether nothing is let in until a wire has room. */
  get isHeldBack(): boolean {
    return this.#wires.isHeldBack
  }

  /** What the fullest wire of audio holds, in milliseconds. */
  get pendingMs(): number {
    return this.#wires.pendingMs
  }

  /** Takes from the wires what can be taken, and after that lets in what waits at the entry. Never runs within itself. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      while (!this.#subscriber.closed) {
        const live = this.#wires.next()
        if (live !== undefined) this.#deliver(live)
        else if (this.#lastWord !== undefined) this.#lastWord()
        else if (!this.#letIn()) break
      }
    } finally {
      this.#isPumping = false
    }
  }

  #deliver(live: LiveWire): void {
    if (deliver(live) === 'more') this.#wires.list(live)
  }

  #letIn(): boolean {
    if (this.isHeldBack) return false
    const item = this.#entry.shift()
    if (item !== undefined) {
      this.#say(this.#entryNode, item, 'audio')
      return true
    }
    this.#session.feeder.resume()
    // A link may give what it held at once.
    if (!this.#entry.isEmpty) return true
    if (this.#retiring === 'asked') return this.#tellRetire()
    if (!this.#entry.takeEnd()) return false
    this.#wires.finish(this.#entryNode)
    // A node without inputs speaks until the session's audio ends.
    for (const { inputs, supervisor } of this.#nodes.values()) if (inputs.length === 0) supervisor.finish()
    return true
  }

  #tellRetire(): boolean {
    this.#retiring = 'told'
    this.#signals.drain$.next(undefined)
    this.#flushRetired()
    return true
  }

  #flushRetired(): void {
    const isOver = ({ supervisor, opened }: LiveNode): boolean =>
      opened.node.definition.handlesDrain !== true || supervisor.hasEnded
    if (this.#retiring === 'told' && [...this.#nodes.values()].every(isOver)) this.#entry.finish()
  }

  /** What a node says goes to every wire of the port; what a publisher says, to the client. */
  #say(from: string, item: NodeItem, port: string): void {
    for (const live of this.#wires.from(from)) {
      if (live.wire.from.port !== port || live.wire.kind !== item.type) continue
      const offered = live.bounded.offer(item)
      if (offered === 'taken') this.#wires.list(live)
      else this.#overflow(live, offered)
    }
  }

  #overflow({ wire }: LiveWire, offered: 'full' | 'flooded'): void {
    const name = `${portText(wire.from)} -> ${portText(wire.to)}`
    if (offered === 'full') this.breakOff(new SpeechError('node-failed', `The wire ${name} of the project is full.`))
    else this.#nodes.get(wire.from.node)?.supervisor.flooded(`It went on though the wire ${name} was full.`)
  }

  #liveNode(opened: OpenedNode): LiveNode {
    const { node, context, formats } = opened
    const { limits, context: shared } = this.#session
    const isPublisher = node.definition.name === publisherName
    const terms = { ...limits, scheduler: shared.scheduler }
    const supervisor = new SupervisedNode(node, context, formats, terms, {
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
        // It is there again, or left out.
        this.#wires.renew(node.id)
        this.#pump()
      },
    })
    return { opened, supervisor, firstInput: Object.keys(node.definition.inputs)[0], inputs: [], openInputs: 0 }
  }

  #nodeEnded(id: string): void {
    for (const { bounded } of this.#nodes.get(id)?.inputs ?? []) bounded.drain()
    this.#wires.finish(id)
    // That last word is said when all wires are empty.
    if (this.#lastWord !== undefined) return
    const nodes = [...this.#nodes.values()]
    if (nodes.every(({ supervisor }) => supervisor.hasEnded)) {
      this.#subscriber.complete()
      return
    }
    // With nobody left who tells the client anything, the rest is flushed.
    const publishers = nodes.filter(({ opened }) => opened.node.definition.name === publisherName)
    if (publishers.every(({ supervisor }) => supervisor.hasEnded)) this.#entry.finish()
    this.#flushRetired()
    this.#pump()
  }

  #nodeFailed(failure: NodeFailure): void {
    const { node, cause, action, attempt, error } = failure
    const kind = this.#nodes.get(node)?.opened.node.definition.name ?? node
    this.#session.monitor?.nodeFailed({ node: kind, cause, action })
    this.#session.log(node, 'The node failed.', { cause, action, attempt })
    const told = nodeFailedError(failure)
    if (action !== 'failed') {
      this.#tell(nodeFailedEvent(failure))
      this.#session.onFault?.(told)
      return
    }
    // An engine's failure has a name of its own, and the node has told of it.
    if (isSpeechError(error) && engineErrors.has(error.code)) {
      this.breakOff(error)
      return
    }
    this.#part(told, () => {
      this.#tell(nodeFailedEvent(failure))
      this.#subscriber.error(told)
    })
  }

  #part(error: SpeechError, lastWord: () => void): void {
    if (this.#lastWord !== undefined) return
    this.#entry.close()
    this.#lastWord = lastWord
    // All that nodes say to it goes into the wires before anything is taken from them.
    const wasPumping = this.#isPumping
    this.#isPumping = true
    this.#signals.aborted$.next(error)
    this.#isPumping = wasPumping
    this.#pump()
  }

  #tell(event: EventEnvelope): void {
    this.#subscriber.next({ type: 'event', event })
  }
}
