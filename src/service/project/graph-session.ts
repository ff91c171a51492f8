import type { AudioFormat } from '../../audio/format.js'
import type { NodeContext } from '../nodes/core/node.js'
import type { WhenFull } from './project-graph.js'
import type { NodeFailure } from './supervise-node.js'

/** Whoever can be told to wait: the link of a session. */
export interface Feeder {
  pause(): void
  resume(): void
}

/** What bounds a graph at work; a project may tighten each. */
export interface GraphLimits {
  /** Milliseconds without audio after which the whole graph is finalized; 0 is never. */
  readonly idleMs: number
  /** What a wire of audio holds where the project says nothing, in milliseconds. */
  readonly maxPendingAudioMs: number
  /** How long each node may take to say its last, in milliseconds. */
  readonly finishWithinMs: number
  /** How long a node may hold up the thread at a time, in milliseconds. */
  readonly maxCallMs: number
}

/** What a full wire lost since it last told; `node` is the kind of node that it leads to. */
export interface WireLoss {
  readonly node: string
  readonly policy: WhenFull
  readonly what: 'audio-ms' | 'events'
  readonly amount: number
}

/** Told what goes wrong within a graph, in words of ours and kinds of nodes, so that it can be counted. */
export interface GraphMonitor {
  readonly dropped: (loss: WireLoss) => void
  readonly nodeFailed: (failure: Pick<NodeFailure, 'node' | 'cause' | 'action'>) => void
}

/** What a graph needs of the session that it runs for: what its nodes get, and what is its own business. */
export interface GraphSession {
  readonly format: AudioFormat
  readonly context: Omit<
    NodeContext,
    'node' | 'inputs' | 'outputs' | 'consumed' | 'resource' | 'idleMs' | 'log' | 'aborted$' | 'drain$' | 'isPaused'
  >
  readonly limits: GraphLimits
  readonly feeder: Feeder
  /** For the operator, of a node. */
  readonly log: (node: string, message: string, fields?: Readonly<Record<string, string | number | boolean>>) => void
  readonly monitor?: GraphMonitor
  /** Told of faults that the session survives. */
  readonly onFault?: (error: unknown) => void
}
