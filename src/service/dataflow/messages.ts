import { contentType, type DataflowRequestName, writeDataflowResponse } from '../../protocol/dataflow-messages.js'
import { completeEventEnvelope, writeEventEnvelope } from '../../protocol/dataflow-events.js'
import type { DataflowMessage } from '../../transport/link.js'
import type { NodeItem } from '../nodes/core/node.js'

const noBytes = new Uint8Array(0)

export const responseMessage = (operationResult: string, request?: DataflowRequestName): DataflowMessage => ({
  contentType: contentType.response,
  content: writeDataflowResponse(operationResult, request),
  binaryContent: noBytes,
})

/** What a project tells; throws where an event's data is nothing that JSON can say. */
export const itemMessage = (item: NodeItem): DataflowMessage =>
  item.type === 'audio'
    ? { contentType: contentType.audio, content: '', binaryContent: item.bytes }
    : {
        contentType: contentType.event,
        content: writeEventEnvelope(completeEventEnvelope(item.event)),
        binaryContent: noBytes,
      }
