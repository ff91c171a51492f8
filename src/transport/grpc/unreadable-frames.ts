import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js'
import { parseRefusal, refusalText, SpeechError } from '../../errors/speech-error.js'
import type { DataflowMessage } from '../link.js'
import { undecodableContentType } from './load-dataflow.js'

interface Receiver {
  onReceiveMessage(message: unknown): void
}

/** What the gRPC package says of a frame that it cannot read, in the words of the error table. */
const meaningOf = (details: string): SpeechError | undefined => {
  const [, size] = /^Received message larger than max \((\d+) vs/.exec(details) ?? []
  if (size !== undefined) {
    return new SpeechError('message-too-big', `A message of ${size} bytes is larger than is allowed.`)
  }
  if (details.startsWith('Received message that decompresses')) {
    return new SpeechError('message-too-big', 'A message is larger than is allowed when it is decompressed.')
  }
  return /^Failed to decompress message|^Received message compressed with/.test(details)
    ? new SpeechError(
        'protocol-violation',
        'A message cannot be decompressed; send it without compression, or by gzip.',
      )
    : undefined
}

/**
 * Lets a service refuse by name what the gRPC package cannot read. The package would end the call itself, in its own
 * words and without a response; in place of that the handler gets a last message, which `unreadableOf` knows.
 */
export const tellUnreadable: ServerInterceptor = (method, call) => {
  if (!method.requestStream) return new ServerInterceptingCall(call)
  const start = call.start.bind(call)
  const sendStatus = call.sendStatus.bind(call)
  let receiver: Receiver | undefined
  let told = false
  call.start = (listener) => {
    receiver = listener
    start(listener)
  }
  call.sendStatus = (status) => {
    const error = meaningOf(status.details ?? '')
    if (error === undefined || receiver === undefined) sendStatus(status)
    else if (!told) {
      // Whatever still comes on the stream is as unreadable, and is dropped.
      told = true
      receiver.onReceiveMessage(unreadable(error))
    }
  }
  return new ServerInterceptingCall(call)
}

const unreadable = (error: SpeechError): DataflowMessage => ({
  contentType: undecodableContentType,
  content: refusalText(error),
  binaryContent: new Uint8Array(0),
})

/** The error that a message stands for when it is the last one of `tellUnreadable`. */
export const unreadableOf = ({ contentType, content }: DataflowMessage): SpeechError | undefined =>
  contentType === undecodableContentType && content !== '' ? parseRefusal(content) : undefined
