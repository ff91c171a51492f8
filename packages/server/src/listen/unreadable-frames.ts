import type { ServerInterceptingCall, ServerInterceptor } from '@grpc/grpc-js'
import { refusalError, refusalText } from 'rxspeech/internal/errors/refusal'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { undecodableContentType } from 'rxspeech/internal/transport/grpc/proto'
import type { DataflowMessage } from 'rxspeech/internal/transport/link'

interface Receiver {
  onReceiveMessage(message: unknown): void
}

/** The error for the details with which the gRPC package refuses a frame that it cannot read. */
const frameError = (details: string): SpeechError | undefined => {
  const [, size] = /^Received message larger than max \((\d+) vs/.exec(details) ?? []
  if (size !== undefined) {
    return new SpeechError('message-too-big', `A message of ${size} bytes is larger than allowed.`)
  }
  if (details.startsWith('Received message that decompresses')) {
    return new SpeechError('message-too-big', 'A message is larger than allowed when it is decompressed.')
  }
  return /^Failed to decompress message|^Received message compressed with/.test(details)
    ? new SpeechError(
        'protocol-violation',
        'A message cannot be decompressed; send it without compression, or with gzip.',
      )
    : undefined
}

/**
 * Reports a frame that the gRPC package cannot read to the handler, as a last message that `unreadableError`
 * recognizes, so that the service can refuse it with a code and a response. The package alone ends the call without
 * either.
 */
export const reportUnreadable: ServerInterceptor = (method, call) => {
  // The call itself: a `ServerInterceptingCall` around it would cost several calls for each message.
  const intercepted = call as unknown as ServerInterceptingCall
  if (!method.requestStream) return intercepted
  const start = call.start.bind(call)
  const sendStatus = call.sendStatus.bind(call)
  let receiver: Receiver | undefined
  let isReported = false
  call.start = (listener) => {
    receiver = listener
    start(listener)
  }
  call.sendStatus = (status) => {
    const error = frameError(status.details ?? '')
    if (error === undefined || receiver === undefined) sendStatus(status)
    else if (!isReported) {
      // The rest of the stream is unreadable too and is dropped.
      isReported = true
      receiver.onReceiveMessage(unreadable(error))
    }
  }
  return intercepted
}

const unreadable = (error: SpeechError): DataflowMessage => ({
  contentType: undecodableContentType,
  content: refusalText(error),
  binaryContent: new Uint8Array(0),
})

/** The error of a message of `reportUnreadable`; undefined for any other message. */
export const unreadableError = ({ contentType, content }: DataflowMessage): SpeechError | undefined =>
  contentType === undecodableContentType && content !== '' ? refusalError(content) : undefined
