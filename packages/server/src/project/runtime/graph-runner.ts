import { Observable, ReplaySubject, Subject, Subscription } from 'rxjs'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { Mailbox } from 'rxspeech/internal/kernel/mailbox'
import type { EventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import { engineErrors } from '../../nodes/speech/finals-on-failure.js'
import type { NodeContext, NodeItem } from '../../nodes/core/node.js'
import { entryName, publisherName, type GraphFormats } from '../check/audio-formats.js'
import type { GraphNode, GraphWire, ProjectGraph } from '../format/project-graph.js'
import { GraphEntry } from './graph-entry.js'
import type { GraphSession, GraphSignals, NodeFailure } from './graph-session.js'
import { nodeFailedError, nodeFailedEvent, NodeSupervisor } from './node-supervisor.js'
import { droppedEvent, wireLoss, type Drops } from './wire-drops.js'
import { portText, wireOptions } from './wire-options.js'
import { Wire, type WireEvents } from './wire.js'

/** A wire that may have something to deliver, or work during which nothing is delivered. */
type Task = Wire | (() => void)

/**
 * Runs a graph for one session. Outputs are queued in the wires behind a node and delivered after the node returns, so
 * node calls never nest and each call can be timed. Audio enters only when no wire has anything to deliver.
 */
export class GraphRunner {
  readonly #graph: ProjectGraph
  readonly #session: GraphSession
  readonly #nodes = new Map<string, NodeSupervisor>()
  /** The wires from each node. */
  readonly #outputs = new Map<string, Wire[]>()
  readonly #entryId: string
  readonly #entry: GraphEntry
  readonly #entryWires: readonly Wire[]
  readonly #output$ = new Subject<NodeItem>()
  readonly #aborted$ = new Subject<SpeechError>()
  readonly #drain$ = new ReplaySubject<undefined>(1)
  readonly #signals = new Subscription()
  readonly #mailbox = new Mailbox<Task>((task) => this.#handle(task))
  /** Wires in the mailbox. */
  #readyWires = 0
  /** Wires that are full. */
  #fullWires = 0
  /** Nodes get the request to drain after the audio that arrived before it. */
  #draining: 'no' | 'requested' | 'announced' = 'no'
  /** Ends an aborted session once everything emitted before is delivered. */
  #finalAction: (() => void) | undefined
  /** While audio enters: what a node processes then was counted when it arrived. */
  #isPassing = false
  #isOver = false

  constructor(graph: ProjectGraph, formats: GraphFormats, session: GraphSession) {
    this.#graph = graph
    this.#session = session
    this.#entryId = graph.nodes.find(({ definition }) => definition.name === entryName)?.id ?? ''
    this.#entryWires = this.#wiresFrom(this.#entryId)
    this.#entry = new GraphEntry(session, {
      isPaused: () => this.#isPaused,
      changed: () => this.#wake(),
      failed: (error) => this.#output$.error(error),
    })
    for (const node of graph.nodes) if (node.id !== this.#entryId) this.#addNode(node, formats)
    for (const wire of graph.wires) this.#addWire(wire, formats)
  }

  /** Opens all nodes at the same time; rejects with the first refusal. */
  async open(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.open()))
  }

  /** Runs the graph from the subscription on; for one subscription. */
  run(audio$: Observable<Uint8Array>, { abort$, drain$ }: GraphSignals): Observable<NodeItem> {
    return new Observable((subscriber) => {
      subscriber.add(() => this.#cancel())
      this.#output$.subscribe(subscriber)
      this.#mailbox.post(() => {
        for (const node of this.#nodes.values()) if (!this.#isOver) node.start()
      })
      if (!this.#isOver) this.#entry.start(audio$)
      this.#signals.add(abort$?.subscribe((error) => this.#abort(error)))
      this.#signals.add(drain$?.subscribe(() => this.#requestDrain()))
    })
  }

  /** The first refusal of an open node for settings that an `Update` would set. */
  checkSettings(next: Settings): SpeechError | undefined {
    for (const node of this.#nodes.values()) {
      const refusal = node.checkSettings(next)
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  /** What the fullest wire of audio holds, in milliseconds. */
  get pendingMs(): number {
    let maxMs = 0
    for (const { inputs } of this.#nodes.values()) for (const wire of inputs) maxMs = Math.max(maxMs, wire.heldMs)
    return maxMs
  }

  /** Whether no audio enters because a wire is full. */
  get #isPaused(): boolean {
    return this.#fullWires > 0
  }

  #addNode(node: GraphNode, formats: GraphFormats): void {
    const { id, definition } = node
    const { limits, context: shared } = this.#session
    const own = formats.byNode.get(id) ?? { inputs: {}, outputs: {} }
    // Not the spread first: V8 would give each object a hidden class of its own.
    const context: NodeContext = {
      sessionFormat: this.#session.format,
      ...shared,
      ...own,
      node: id,
      aborted$: this.#aborted$.asObservable(),
      drain$: this.#drain$.asObservable(),
      isPaused: () => this.#isPaused,
      isAnswering: this.#session.source.isAnswering,
      incoming: this.#isOnlyTarget(id) ? this.#session.incoming : undefined,
      // The graph ends as a whole, at its entry.
      idleMs: 0,
      resource: (name) => this.#graph.resources.get(name),
      ack: (count, port) => {
        if (!this.#isPassing) this.#entry.touch()
        supervisor.ack(count, port)
      },
      log: (message, fields) => this.#session.log(id, message, fields),
    }
    const isPublisher = definition.name === publisherName
    const wires = this.#wiresFrom(id)
    const supervisor = new NodeSupervisor(
      node,
      context,
      own,
      { scheduler: shared.scheduler, ...limits },
      {
        next: (item, port) => {
          if (isPublisher) this.#output$.next(item)
          else if (this.#mailbox.isBusy) this.#emit(wires, item, port)
          else this.#mailbox.post(() => this.#emit(wires, item, port))
        },
        complete: () => this.#batch(() => this.#nodeEnded(id)),
        failed: (failure) => this.#batch(() => this.#nodeFailed(failure)),
        ready: () =>
          this.#batch(() => {
            for (const wire of supervisor.inputs) wire.renew()
          }),
      },
    )
    this.#nodes.set(id, supervisor)
  }

  /** Whether all audio of the client leads to this node and to no other, and none of it is ever dropped. */
  #isOnlyTarget(id: string): boolean {
    const [wire, ...others] = this.#graph.wires.filter(({ from }) => from.node === this.#entryId)
    return others.length === 0 && wire?.to.node === id && wire.whenFull === 'block'
  }

  #addWire(wire: GraphWire, formats: GraphFormats): void {
    const target = this.#nodes.get(wire.to.node)
    if (target === undefined) return
    const format = wire.kind === 'audio' ? formats.byNode.get(wire.from.node)?.outputs[wire.from.port] : undefined
    const added = new Wire(wireOptions(wire, format, this.#session.limits.maxPendingAudioMs), target, this.#wireEvents)
    target.connect(added)
    this.#wiresFrom(wire.from.node).push(added)
  }

  readonly #wireEvents: WireEvents = {
    ready: (wire) => {
      this.#readyWires += 1
      this.#mailbox.post(wire)
    },
    blocked: (isBlocked) => {
      this.#fullWires += isBlocked ? 1 : -1
      if (isBlocked) this.#session.source.pause()
    },
    dropped: (drops, wire) => this.#reportDrops(drops, wire),
  }

  #wiresFrom(node: string): Wire[] {
    const known = this.#outputs.get(node)
    if (known !== undefined) return known
    const wires: Wire[] = []
    this.#outputs.set(node, wires)
    return wires
  }

  #handle(task: Task): void {
    if (this.#isOver) return
    if (typeof task === 'function') task()
    else {
      this.#readyWires -= 1
      task.deliver()
    }
    while (this.#readyWires === 0 && !this.#isOver && this.#advance());
  }

  /** Runs work during which nothing is delivered. */
  #batch(work: () => void): void {
    if (this.#mailbox.isBusy) work()
    else this.#mailbox.post(work)
  }

  /** Advances the graph when it is idle. */
  #wake(): void {
    if (!this.#mailbox.isBusy) this.#mailbox.post(nothing)
  }

  /** No wire has anything to deliver: ends the session or lets audio enter. Returns whether there may be more to do. */
  #advance(): boolean {
    if (this.#finalAction !== undefined) {
      this.#finalAction()
      return false
    }
    if (this.#isPaused) return false
    const item = this.#entry.shift()
    if (item !== undefined) {
      this.#isPassing = true
      for (const wire of this.#entryWires) {
        const offered = this.#isOver ? 'taken' : wire.pass(item)
        if (offered !== 'taken') this.#overflow(wire, offered)
      }
      this.#isPassing = false
      return true
    }
    this.#session.source.resume()
    // A link can deliver what it held while it is resumed.
    if (!this.#entry.isEmpty) return true
    if (this.#draining === 'requested') {
      this.#announceDrain()
      return true
    }
    if (!this.#entry.takeEnd()) return false
    for (const wire of this.#entryWires) wire.finish()
    // A node without inputs runs until the session's audio ends.
    for (const node of this.#nodes.values()) if (node.inputs.length === 0) node.finish()
    return true
  }

  /** Offers an item to those wires of a node that lead from the port. */
  #emit(wires: readonly Wire[], item: NodeItem, port: string): void {
    for (const wire of wires) {
      if (wire.options.from.port !== port || wire.options.kind !== item.type) continue
      const offered = wire.offer(item)
      if (offered !== 'taken') this.#overflow(wire, offered)
    }
  }

  #overflow({ options: { from, to } }: Wire, offered: 'full' | 'flooded'): void {
    const name = `${portText(from)} -> ${portText(to)}`
    if (offered === 'full') this.#abort(new SpeechError('node-failed', `The wire ${name} of the project is full.`))
    else this.#nodes.get(from.node)?.flooded(`It kept emitting although the wire ${name} was full.`)
  }

  #reportDrops(drops: Drops, wire: Wire): void {
    const event = droppedEvent(wire.options, drops)
    this.#reportLoss(wire)
    this.#session.log(wire.options.to.node, `The wire drops items (${drops.phase}).`, fieldsOf(event))
    this.#output$.next({ type: 'event', event })
  }

  #reportLoss(wire: Wire): void {
    const loss = wire.takeLoss()
    const node = this.#nodes.get(wire.options.to.node)
    if (loss > 0 && node !== undefined) {
      this.#session.monitor?.dropped(wireLoss(wire.options, node.definition.name, loss))
    }
  }

  #requestDrain(): void {
    if (this.#draining === 'no') this.#draining = 'requested'
    this.#wake()
  }

  #announceDrain(): void {
    this.#draining = 'announced'
    this.#drain$.next(undefined)
    this.#finishAfterDrain()
  }

  #finishAfterDrain(): void {
    const isOver = (node: NodeSupervisor): boolean => node.definition.handlesDrain !== true || node.hasEnded
    if (this.#draining === 'announced' && [...this.#nodes.values()].every(isOver)) this.#entry.finish()
  }

  #nodeEnded(id: string): void {
    for (const wire of this.#nodes.get(id)?.inputs ?? []) wire.close()
    for (const wire of this.#wiresFrom(id)) wire.finish()
    if (this.#finalAction !== undefined) return
    const nodes = [...this.#nodes.values()]
    if (nodes.every(({ hasEnded }) => hasEnded)) {
      this.#output$.complete()
      return
    }
    // Without a publisher no output reaches the client, so the other nodes are finalized.
    const publishers = nodes.filter(({ definition }) => definition.name === publisherName)
    if (publishers.every(({ hasEnded }) => hasEnded)) this.#entry.finish()
    this.#finishAfterDrain()
  }

  #nodeFailed(failure: NodeFailure): void {
    const { node, cause, action, attempt, error } = failure
    const kind = this.#nodes.get(node)?.definition.name ?? node
    this.#session.monitor?.nodeFailed({ node: kind, cause, action })
    this.#session.log(node, 'The node failed.', { cause, action, attempt })
    const sessionError = nodeFailedError(failure)
    const event: NodeItem = { type: 'event', event: nodeFailedEvent(failure) }
    if (action !== 'failed') {
      this.#output$.next(event)
      this.#session.onFault?.(sessionError)
    } else if (isSpeechError(error) && engineErrors.has(error.code)) {
      // The failure of an engine has its own code, and the node has emitted an event about it.
      this.#abort(error)
    } else this.#abort(sessionError, event)
  }

  /** Ends the session with an error, after everything emitted until then and a last event. */
  #abort(error: SpeechError, lastItem?: NodeItem): void {
    if (this.#finalAction !== undefined || this.#isOver) return
    this.#finalAction = () => {
      if (lastItem !== undefined) this.#output$.next(lastItem)
      this.#output$.error(error)
    }
    this.#entry.close()
    this.#batch(() => this.#aborted$.next(error))
  }

  #cancel(): void {
    this.#isOver = true
    this.#signals.unsubscribe()
    this.#entry.close()
    this.#mailbox.clear()
    for (const wires of this.#outputs.values()) for (const wire of wires) this.#reportLoss(wire)
    this.#entry.unsubscribe()
    for (const node of this.#nodes.values()) node.cancel()
    this.#session.source.resume()
  }
}

const fieldsOf = ({ data }: EventEnvelope): Readonly<Record<string, string | number>> =>
  data as Readonly<Record<string, string | number>>

const nothing = (): void => undefined
