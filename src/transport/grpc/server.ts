import type { ServerDuplexStream } from '@grpc/grpc-js'
import type { ServerHttp2Stream } from 'node:http2'
import { errorTable } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Resolved } from '../limits.js'
import type { DataflowMessage, Link } from '../link.js'
import { checkOptions, optionsOf } from '../../protocol/validation.js'
import { type CallReason, GrpcLink, grpcLinkCodecs, type GrpcLinkOptions, resolveGrpcLimits } from './link.js'
import { refusalStatus, orderlyEnd } from './errors.js'

type ServerCall = ServerDuplexStream<DataflowMessage, DataflowMessage>

/** HTTP/2 error code CANCEL (RFC 9113 section 7). */
const cancelCode = 8

/** Why a message cannot be accepted; undefined if it can. */
type Refuse = (message: DataflowMessage) => SpeechError | undefined

class GrpcServerLink extends GrpcLink {
  readonly #call: ServerCall
  readonly #refuse: Refuse | undefined
  /** Whether a client that sends nothing has answered, if it was asked since its last message. */
  #question: { isAnswered: boolean } | undefined

  constructor(call: ServerCall, limits: Resolved<GrpcLinkOptions>, refuse?: Refuse) {
    super(call, limits)
    this.#call = call
    this.#refuse = refuse
    // A client that cancels seems to half-close first (Node ends the stream before it resets it), so this waits a turn.
    call.once('end', () => setImmediate(() => this.peerFinished()))
    // Emitted at every end of the call; the link is still open only when the client or the connection ended it.
    call.once('cancelled', () => this.callOver(new SpeechError('connection-lost', errorTable['connection-lost'].help)))
  }

  /**
   * Whether a client that sends nothing has answered a ping since its last message; the first call sends it. The answer
   * comes from the other end of the HTTP/2 connection, which may be a proxy.
   */
  isAnswering(): boolean {
    if (this.#question !== undefined) return this.#question.isAnswered
    const session = http2StreamOf(this.#call)?.session
    if (session === undefined) return true
    if (session.destroyed) return false
    const question = { isAnswered: false }
    // Too many pings of one connection at the same time are refused, and are tried again with the next question.
    const isSent = session.ping((error) => (question.isAnswered = error === null))
    if (isSent) this.#question = question
    return false
  }

  protected override receive(message: DataflowMessage): void {
    this.#question = undefined
    const error = this.#refuse?.(message)
    if (error === undefined) super.receive(message)
    else this.inbox.finish(error)
  }

  /** A server cannot half-close: ending its side ends the call. */
  finish(): void {}

  protected endCall(reason: CallReason | undefined): void {
    // A handler of the gRPC package sets the status by emitting an error; written messages go first.
    if (reason === undefined) this.#call.end()
    else if (reason.orderly === true) this.#call.end(orderlyEnd(reason))
    else this.#call.emit('error', refusalStatus(reason))
  }

  protected abortCall(): void {
    http2StreamOf(this.#call)?.close(cancelCode)
  }
}

const grpcLinkOptions = optionsOf<GrpcLinkOptions>()({}, grpcLinkCodecs)

/**
 * The link over a server's call of `loadDataflow().Stream`; create it within the handler. The client's half-close
 * completes `incoming$`; a cancelled call, and one that the gRPC package ended because of a message that is too big,
 * errors with `connection-lost`. `close` ends the call with OK, or with the status of the reason's code and `<code>:
 * <sentence>` as details. `finish` does nothing. `incoming$` errors with the error of the first message that `refuse`
 * returns one for. Throws `invalid-options`.
 */
export const grpcServerLink = (
  call: ServerCall,
  options: GrpcLinkOptions = {},
  refuse?: Refuse,
): Link<DataflowMessage, DataflowMessage> =>
  new GrpcServerLink(call, resolveGrpcLimits(checkOptions(grpcLinkOptions, options)), refuse)

const isStream = (value: unknown): value is ServerHttp2Stream =>
  typeof value === 'object' && value !== null && 'close' in value && 'session' in value

/**
 * The HTTP/2 stream below a server's call, found behind the call and its interceptors. The gRPC package has no public
 * way to reset a stream whose client does not read, and whose buffers would stay until the connection ends. Undefined
 * when the internals of the package change.
 */
export const http2StreamOf = (call: object): ServerHttp2Stream | undefined => {
  let below: unknown = Reflect.get(call, 'call')
  while (typeof below === 'object' && below !== null) {
    const stream: unknown = Reflect.get(below, 'stream')
    if (isStream(stream)) return stream
    below = Reflect.get(below, 'nextCall')
  }
  return undefined
}
