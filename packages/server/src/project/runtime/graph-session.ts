import type { Observable } from 'rxjs'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Link } from 'rxspeech/internal/transport/link'
import type { FaultKind, NodeContext } from '../../nodes/core/node.js'
import type { IncomingAudio } from '../../recognition/incoming-audio.js'
import type { WhenFull } from '../format/project-graph.js'

/** The bounds of a running graph; a project can tighten each. */
export interface GraphLimits {
  /** Time without audio after which the graph is finalized, in milliseconds; 0 is never. */
  readonly idleMs: number
  /** The capacity of a wire of audio for which the project sets none, in milliseconds. */
  readonly maxPendingAudioMs: number
  /** How long a node may take to complete after its input completed, in milliseconds. */
  readonly finishWithinMs: number
  /** How long one call of a node may block the thread, in milliseconds. */
  readonly maxCallMs: number
}

/** The consequence of a node's failure. */
export interface NodeFailure {
  readonly node: string
  readonly cause: FaultKind
  readonly action: 'failed' | 'restarted' | 'bypassed'
  /** 1 for the first fault of the node in this session. */
  readonly attempt: number
  /** For the operator only. */
  readonly error: unknown
}

/** What a full wire dropped since its last report; `node` is the kind of node that it leads to. */
export interface WireLoss {
  readonly node: string
  readonly policy: WhenFull
  readonly what: 'audio-ms' | 'events'
  readonly amount: number
}

/** Counts the faults of a graph, by kinds of nodes instead of the ids of a project. */
export interface GraphMonitor {
  readonly dropped: (loss: WireLoss) => void
  readonly nodeFailed: (failure: Pick<NodeFailure, 'node' | 'cause' | 'action'>) => void
}

/** The session that a graph runs for. */
export interface GraphSession {
  readonly format: AudioFormat
  /** What is the same for all nodes. */
  readonly context: Omit<
    NodeContext,
    | 'node'
    | 'inputs'
    | 'outputs'
    | 'ack'
    | 'resource'
    | 'idleMs'
    | 'log'
    | 'aborted$'
    | 'drain$'
    | 'isPaused'
    | 'isAnswering'
    | 'incoming'
  >
  readonly limits: GraphLimits
  /** The source of the audio, paused while a wire is full. */
  readonly source: Pick<Link<unknown, unknown>, 'pause' | 'resume'> & Pick<NodeContext, 'isAnswering'>
  /** The audio before it enters the graph. */
  readonly incoming?: IncomingAudio | undefined
  /** Logs for the operator on behalf of a node. */
  readonly log: (node: string, message: string, fields?: Readonly<Record<string, string | number | boolean>>) => void
  readonly monitor?: GraphMonitor | undefined
  /** Called with faults that the session survives. */
  readonly onFault?: ((error: unknown) => void) | undefined
}

/** How a session ends other than by the end of its audio. */
export interface GraphSignals {
  /**
   * Ends the session early: no more audio is accepted, nodes can emit their last items, and the output errors with the
   * emitted error.
   */
  readonly abort$?: Observable<SpeechError> | undefined
  /** Ends the session at the next silence: nodes with `handlesDrain` complete first, then all others are finalized. */
  readonly drain$?: Observable<unknown> | undefined
}
