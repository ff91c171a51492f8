import { SpeechError } from '../../../errors/speech-error.js'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import type { AnyNodeDefinition } from '../../nodes/core/node.js'
import { isSameFormat, type NodeFormats } from '../check/audio-formats.js'
import type { NodeFailure } from './graph-session.js'

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
 * The outputs that each input of a bypassed node leads to: every output gets the items of the first input of its kind, of
 * audio the first in the same format. The items of an input without outputs are discarded.
 */
export const bypassRoutes = (
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
