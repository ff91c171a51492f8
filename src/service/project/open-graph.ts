import { Observable, ReplaySubject, Subject } from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import type { Settings } from '../../protocol/dataflow-messages.js'
import type { Node, NodeContext, NodeItem } from '../nodes/core/node.js'
import { entryName, graphFormats, type GraphFormats, type NodeFormats } from './graph-formats.js'
import type { GraphLimits, GraphSession } from './graph-session.js'
import type { GraphNode, ProjectGraph, ProjectInputs } from './project-graph.js'
import type { OpenedNode } from './live-wires.js'
import { RunGraph, type GraphSignals } from './run-graph.js'

/** A graph that was opened for one session. */
export interface OpenGraph {
  /**
   * Subscribe once. The completion of the audio finalizes every node; the output completes when every node has said its
   * last. It errors with `node-failed` where a node or a wire fails whose policy is to fail. Unsubscribe cancels all.
   */
  readonly run: (audio$: Observable<Uint8Array>) => Observable<NodeItem>
  /**
   * Ends the session before its time: no more audio is taken, nodes may say their last to it, and the output errors with
   * this.
   */
  readonly breakOff: (error: SpeechError) => void
  /** Ends the session where nobody speaks: the nodes that `retire` end by themselves, and after them all others are finalized. */
  readonly retire: () => void
  /** The audio that was taken in and that the slowest node has not dealt with, in milliseconds. */
  readonly pendingMs: () => number
  /** The longest that the project lets a session take, in milliseconds. */
  readonly maxSessionMs: number
  /** Why one of the nodes refuses these settings, before an `Update` makes them the session's; nothing where they fit. */
  readonly checkSettings: (next: Settings, now: Settings) => SpeechError | undefined
}

/**
 * Opens every node of a graph for one session, all at the same time. Rejects with `invalid-field` where the project does
 * not take the session's format, with a node's own refusal, or with `node-failed` where a node broke.
 */
export const openGraph = async (graph: ProjectGraph, session: GraphSession): Promise<OpenGraph> => {
  refuseOtherAudio(graph.inputs, session.format)
  const formats = graphFormats(graph.nodes, graph.wires, session.format)
  const [refusal] = formats.refusals
  if (refusal !== undefined) {
    throw new SpeechError(
      'invalid-format',
      `The node ${refusal.node} of the project does not take this audio: ${refusal.message}.`,
    )
  }
  const limits = tightened(session.limits, graph.limits)
  const bound: Bound = { aborted$: new Subject(), drain$: new ReplaySubject(1) }
  const nodes = await Promise.all(
    graph.nodes
      .filter(({ definition }) => definition.name !== entryName)
      .map((node) => openNode(node, graph, formats, session, bound)),
  )
  return {
    run: (audio$) =>
      new Observable((subscriber) => {
        const run = new RunGraph(graph, nodes, formats, { ...session, limits }, bound, subscriber)
        bound.run = run
        subscriber.add(() => {
          run.cancel()
        })
        run.start(audio$)
        if (bound.brokenBy !== undefined) run.breakOff(bound.brokenBy)
      }),
    breakOff: (error) => {
      bound.brokenBy ??= error
      bound.run?.breakOff(error)
    },
    retire: () => {
      bound.run?.retire()
    },
    pendingMs: () => bound.run?.pendingMs ?? 0,
    maxSessionMs: graph.limits.maxSessionMs ?? Infinity,
    checkSettings: (next, now) => {
      for (const { configured } of graph.nodes) {
        const refusal = configured.checkSettings(next, now)
        if (refusal !== undefined) return refusal
      }
      return undefined
    },
  }
}

/** What the nodes of a session share with the graph that they will run in. */
interface Bound extends GraphSignals {
  run?: RunGraph
  brokenBy?: SpeechError
}

const openNode = async (
  node: GraphNode,
  graph: ProjectGraph,
  formats: GraphFormats,
  session: GraphSession,
  bound: Readonly<Bound>,
): Promise<OpenedNode> => {
  const { id } = node
  const own: NodeFormats = formats.byNode.get(id) ?? { inputs: {}, outputs: {} }
  const context: NodeContext = {
    ...session.context,
    ...own,
    sessionFormat: session.format,
    node: id,
    aborted$: bound.aborted$.asObservable(),
    drain$: bound.drain$.asObservable(),
    isPaused: () => bound.run?.isHeldBack ?? false,
    // The graph ends as a whole, at its entry.
    idleMs: 0,
    resource: (name) => graph.resources.get(name),
    consumed: (count, port) => bound.run?.consumed(id, count, port),
    log: (message, fields) => {
      session.log(id, message, fields)
    },
  }
  return { node, formats: own, context, open: await opened(node, context) }
}

const opened = async (node: GraphNode, context: NodeContext): Promise<Node> => {
  try {
    return await node.configured.open(context)
  } catch (error) {
    if (isSpeechError(error)) throw error
    throw new SpeechError('node-failed', `The node ${node.id} of the project could not be opened.`, { cause: error })
  }
}

const tightened = (limits: GraphLimits, own: ProjectGraph['limits']): GraphLimits => ({
  idleMs: limits.idleMs === 0 ? (own.idleMs ?? 0) : Math.min(limits.idleMs, own.idleMs ?? Infinity),
  maxPendingAudioMs: Math.min(limits.maxPendingAudioMs, own.maxPendingAudioMs ?? Infinity),
  finishWithinMs: Math.min(limits.finishWithinMs, own.finishWithinMs ?? Infinity),
  maxCallMs: Math.min(limits.maxCallMs, own.maxCallMs ?? Infinity),
})

const refuseOtherAudio = ({ encodings, sampleRatesHz, channels }: ProjectInputs, format: AudioFormat): void => {
  const refuse = (field: string, taken: readonly (string | number)[]): never => {
    throw new SpeechError('invalid-field', `Audio.${field} must be ${taken.join(' or ')} for this project.`)
  }
  if (!encodings.includes(format.encoding)) refuse('Encoding', encodings)
  if (!channels.includes(format.channels)) refuse('ChannelCount', channels)
  if (sampleRatesHz?.includes(format.sampleRateHz) === false) refuse('SampleRate', sampleRatesHz)
}
