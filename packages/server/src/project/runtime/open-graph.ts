import type { Observable } from 'rxjs'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import type { NodeItem } from '../../nodes/core/node.js'
import { graphFormats } from '../check/audio-formats.js'
import type { ProjectGraph, ProjectInputs } from '../format/project-graph.js'
import { GraphRunner } from './graph-runner.js'
import type { GraphLimits, GraphSession, GraphSignals } from './graph-session.js'

/** A graph that is open for one session: a function like a node, for one call. */
export interface OpenGraph {
  /**
   * Runs the graph from the subscription on, which can be one. The completion of the audio finalizes every node; the
   * output completes when every node has completed. It errors with `node-failed` when a node or a wire with the policy
   * `fail` fails. Unsubscribing cancels all nodes.
   */
  (audio$: Observable<Uint8Array>, signals?: GraphSignals): Observable<NodeItem>
  /** The accepted audio that the slowest node has not processed, in milliseconds. */
  readonly pendingMs: () => number
  /** The longest session that the project allows, in milliseconds. */
  readonly maxSessionMs: number
  /** The refusal of a node for settings that an `Update` would set; undefined when all nodes accept them. */
  readonly checkSettings: (next: Settings, now: Settings) => SpeechError | undefined
}

/**
 * Opens all nodes of a graph for one session, at the same time. Rejects with `invalid-field` when the project does not
 * accept the session's format, with the refusal of a node, or with `node-failed` when a node throws.
 */
export const openGraph = async (graph: ProjectGraph, session: GraphSession): Promise<OpenGraph> => {
  checkInputs(graph.inputs, session.format)
  const formats = graphFormats(graph.nodes, graph.wires, session.format)
  const [refusal] = formats.refusals
  if (refusal !== undefined) {
    throw new SpeechError(
      'invalid-format',
      `The node ${refusal.node} of the project does not accept this audio: ${refusal.message}.`,
    )
  }
  const runner = new GraphRunner(graph, formats, { ...session, limits: tighter(session.limits, graph.limits) })
  await runner.open()
  return Object.assign(
    (audio$: Observable<Uint8Array>, signals: GraphSignals = {}): Observable<NodeItem> => runner.run(audio$, signals),
    {
      pendingMs: () => runner.pendingMs,
      maxSessionMs: graph.limits.maxSessionMs ?? Infinity,
      checkSettings: (next: Settings, now: Settings): SpeechError | undefined => {
        for (const { configured } of graph.nodes) {
          const settingsRefusal = configured.checkSettings(next, now)
          if (settingsRefusal !== undefined) return settingsRefusal
        }
        return runner.checkSettings(next)
      },
    },
  )
}

const tighter = (limits: GraphLimits, own: ProjectGraph['limits']): GraphLimits => ({
  idleMs: limits.idleMs === 0 ? (own.idleMs ?? 0) : Math.min(limits.idleMs, own.idleMs ?? Infinity),
  maxPendingAudioMs: Math.min(limits.maxPendingAudioMs, own.maxPendingAudioMs ?? Infinity),
  finishWithinMs: Math.min(limits.finishWithinMs, own.finishWithinMs ?? Infinity),
  maxCallMs: Math.min(limits.maxCallMs, own.maxCallMs ?? Infinity),
})

const checkInputs = ({ encodings, sampleRatesHz, channels }: ProjectInputs, format: AudioFormat): void => {
  const refuse = (field: string, accepted: readonly (string | number)[]): never => {
    throw new SpeechError('invalid-field', `Audio.${field} must be ${accepted.join(' or ')} for this project.`)
  }
  if (!encodings.includes(format.encoding)) refuse('Encoding', encodings)
  if (!channels.includes(format.channels)) refuse('ChannelCount', channels)
  if (sampleRatesHz?.includes(format.sampleRateHz) === false) refuse('SampleRate', sampleRatesHz)
}
