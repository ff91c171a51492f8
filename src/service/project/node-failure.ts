import { SpeechError } from '../../errors/speech-error.js'
import type { EventEnvelope } from '../../protocol/dataflow-events.js'
import type { NodeFailure } from './supervise-node.js'

/** What the client is told of a node that failed, whatever its policy makes of it. */
export const nodeFailedEvent = ({ node, cause, action, attempt }: NodeFailure): EventEnvelope => ({
  name: 'Node Failed',
  channel: -1,
  startMs: -1,
  endMs: -1,
  data: { Node: node, Cause: cause, Action: action, Attempt: attempt },
})

export const nodeFailedError = ({ node, cause, error }: NodeFailure): SpeechError =>
  new SpeechError('node-failed', `The node ${node} of the project failed (${cause}).`, { cause: error })
