import { either, function as f } from 'fp-ts'
import type { SpeechError } from '../errors/speech-error.js'
import type { DataflowRequestName } from './dataflow-requests.js'
import { text } from './field-codecs.js'
import { parseJsonObject } from './json-object.js'
import { decodeWith, hint, messageCodec, required, type MessageCodec } from './message-codec.js'

/**
 * service.md 2.6: the answer to a request. A service of the description may leave out the name, so that only
 * `operation-result` is relied upon (decisions.md: start-response).
 */
export interface DataflowResponse {
  readonly messageName?: string
  readonly operationResult: string
}

export const dataflowResponse: MessageCodec<DataflowResponse> = messageCodec<DataflowResponse>('an object', {
  messageName: hint(text, 'MessageName', 'message-name'),
  operationResult: required(text, 'operation-result', 'OperationResult'),
})

export const readDataflowResponse = (json: string): either.Either<SpeechError, DataflowResponse> =>
  f.pipe(
    parseJsonObject(json),
    either.chain((object) => decodeWith(dataflowResponse, object)),
  )

/** Named `StartResponse` for `Start`, and so on; without a name where the request could not be read. */
export const writeDataflowResponse = (operationResult: string, request?: DataflowRequestName): string =>
  JSON.stringify(
    dataflowResponse.encode({
      ...(request === undefined ? {} : { messageName: `${request}Response` }),
      operationResult,
    }),
  )
