import type { ServerDuplexStream } from '@grpc/grpc-js'
import { errorTable } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import { GrpcLink, resolveGrpcLimits, type CallReason, type GrpcLinkOptions } from './grpc-link.js'
import { orderlyEnd } from './orderly-end.js'
import { refusalStatus } from './grpc-status.js'
import type { DataflowMessage, Link } from '../link.js'
import { http2StreamOf } from './server-http2-stream.js'

type ServerCall = ServerDuplexStream<DataflowMessage, DataflowMessage>

/** HTTP/2 error code CANCEL (RFC 9113 section 7). */
const cancelCode = 8

class GrpcServerLink extends GrpcLink {
  constructor(
    private readonly call: ServerCall,
    limits: Required<GrpcLinkOptions>,
  ) {
    super(call, limits)
    // A client that cancels is seen to half-close first (Node ends the stream before it resets it), so this waits a turn.
    call.once('end', () => setImmediate(() => this.peerFinished()))
    // Comes at every end of the call; only when the client or the connection ended it is the link still open.
    call.once('cancelled', () => this.callOver(new SpeechError('connection-lost', errorTable['connection-lost'].help)))
  }

  /** Ending the sending half would end the call. */
  finish(): void {}

  protected endCall(reason: CallReason | undefined): void {
    // To emit an error is how a handler of the gRPC package sets the status; what was written goes first.
    if (reason === undefined) this.call.end()
    else if (reason.orderly === true) this.call.end(orderlyEnd(reason))
    else this.call.emit('error', refusalStatus(reason))
  }

  protected abortCall(): void {
    http2StreamOf(this.call)?.close(cancelCode)
  }
}

/**
 * The link over a server's call of `loadDataflow().Stream`; make it within the handler. The client's half-close completes
 * `incoming`; a cancelled call, and one that the gRPC package itself ended for a message that is too big, errors with
 * `connection-lost`. `close` ends with OK, or with the status of the reason's code and `<code>: <sentence>` as details.
 * `finish` does nothing: to end is to close. Throws `invalid-options`.
 */
export const grpcServerLink = (
  call: ServerCall,
  options: GrpcLinkOptions = {},
): Link<DataflowMessage, DataflowMessage> => new GrpcServerLink(call, resolveGrpcLimits(options))
