import { Server, type ServerDuplexStream } from '@grpc/grpc-js'
import { refusalText } from 'rxspeech/internal/errors/refusal'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { contentType, writeDataflowResponse } from 'rxspeech/internal/protocol/dataflow-messages'
import { traceparentHeader } from 'rxspeech/internal/tracing/traceparent'
import { loadDataflow } from 'rxspeech/internal/transport/grpc/proto'
import { grpcServerLink, http2StreamOf } from 'rxspeech/internal/transport/grpc/server'
import type { DataflowMessage, Link } from 'rxspeech/internal/transport/link'
import { checkPlainText, hostPort, type ListenAddress } from 'rxspeech/internal/transport/listen-address'
import { noopMonitor, type ServiceMonitor } from '../monitor/service-monitor.js'
import { SessionWatch, watchConversation } from '../monitor/session-watch.js'
import { serveDataflow } from '../dataflow/session.js'
import { RequestLimit } from '../sessions/request-limit.js'
import { watchedContext, type DataflowContext } from '../sessions/session-context.js'
import { AcceptedConnections, type Connection, type ProxyTrust } from './accepted-connections.js'
import type { AcceptConnections } from './accept-connections.js'
import { tooManyUnstarted, type ConnectionCounter, type ConnectionLimits } from './connection-gate.js'
import {
  closeSessionSoon,
  defaultGrpcTimeouts,
  keepaliveOptions,
  listenForGrpc,
  type GrpcTimeouts,
} from './grpc-connections.js'
import type { ListenerCertificate } from './renewable-certificate.js'
import { RequestAllowances } from './request-allowance.js'
import { serveLink, type SessionSet } from './serve-link.js'
import { reportUnreadable, unreadableError } from './unreadable-frames.js'

export interface DataflowListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ListenerCertificate | undefined
  readonly context: DataflowContext
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  readonly monitor?: ServiceMonitor | undefined
  /** Adds further services, such as health, before the server listens. */
  readonly addServices?: ((server: Server) => void) | undefined
  /** Counts connections, and streams before their Start; without it they are not limited. */
  readonly gate?: ConnectionCounter | undefined
  /** Proxies that are trusted to report the address of a client. */
  readonly trust?: ProxyTrust | undefined
  readonly limits: Pick<ConnectionLimits, 'streamsPerConnection' | 'connectionAgeMs' | 'connectionGraceMs'>
  readonly timeouts?: GrpcTimeouts | undefined
  /** @default a port of this process */
  readonly acceptConnections?: AcceptConnections | undefined
}

export interface DataflowListener {
  /** `host:port`. */
  readonly address: string
  /** Accepts no further connections and streams; resolves when all have ended. */
  readonly stopAccepting: () => Promise<void>
  /** Destroys all open connections. */
  readonly close: () => void
}

/** The gRPC interface (PROTOCOL 3). Rejects with `listen-failed`, or with `invalid-options` as `openHttp` does. */
export const openDataflow = async (options: DataflowListenerOptions): Promise<DataflowListener> => {
  const { address, certificate, maxMessageBytes, gate, trust, timeouts = defaultGrpcTimeouts } = options
  const { streamsPerConnection, connectionAgeMs, connectionGraceMs } = options.limits
  checkPlainText(address, certificate)
  const server = new Server({
    // Above the service's own limit, so that the service refuses a message that is too big with its own code.
    'grpc.max_receive_message_length': 4 * maxMessageBytes,
    'grpc.max_send_message_length': -1,
    ...keepaliveOptions(timeouts),
    // Statistics of gRPC's own, which nothing reads; they count every message.
    'grpc.enable_channelz': 0,
    'grpc.max_connection_idle_ms': 300_000,
    'grpc.max_concurrent_streams': streamsPerConnection,
    ...(connectionAgeMs > 0 && { 'grpc.max_connection_age_ms': connectionAgeMs }),
    'grpc.max_connection_age_grace_ms': connectionGraceMs,
    interceptors: [reportUnreadable],
  })
  const accepted = new AcceptedConnections({ gate, trust, headerWithinMs: timeouts.handshakeMs })
  const allowances = new RequestAllowances(streamsPerConnection)
  server.addService({ ...loadDataflow() }, { Stream: streamHandler(options, accepted, allowances) })
  options.addServices?.(server)
  const listen = { address, certificate, accepted, timeouts, allowances, acceptConnections: options.acceptConnections }
  const connections = await listenForGrpc(server, listen).catch((error: unknown) => {
    server.forceShutdown()
    throw error
  })
  return {
    address: hostPort(address, connections.port),
    stopAccepting: () => {
      connections.stopAccepting()
      return new Promise((resolve) => {
        server.tryShutdown(() => {
          resolve()
        })
      })
    },
    close: () => {
      connections.stopAccepting()
      server.forceShutdown()
      connections.destroyAll()
    },
  }
}

type Call = ServerDuplexStream<DataflowMessage, DataflowMessage>

const streamHandler = (
  options: DataflowListenerOptions,
  connections: AcceptedConnections,
  allowances: RequestAllowances,
): ((call: Call) => void) => {
  const { context, sessions, maxMessageBytes, monitor = noopMonitor, gate } = options
  const refuse = refuseAbove(maxMessageBytes)
  const serve = async (call: Call): Promise<void> => {
    const peer = peerOf(call.getPeer())
    const client = connections.requestClient(peer, forwardedFor(call))
    const address = client.address ?? connections.addressOf(peer) ?? 'unknown'
    const tooMany = connections.refusal(peer)
    const leaveUnstarted = await gate?.takeUnstarted(client.address)
    if (call.cancelled) {
      leaveUnstarted?.()
      return
    }
    const link = grpcServerLink(call, { maxMessageBytes }, refuse)
    if (tooMany !== undefined || (gate !== undefined && leaveUnstarted === undefined)) {
      leaveUnstarted?.()
      const error = tooMany ?? tooManyUnstarted()
      monitor.refused('grpc', error.code)
      refuseStream(link, error)
      // The connection itself exceeds the limit, and ends with its last stream.
      if (tooMany !== undefined) closeSessionSoon(http2StreamOf(call)?.session)
      return
    }
    const admit: DataflowContext['admit'] = async (...presented) => {
      leaveUnstarted?.()
      const admission = await context.admit(...presented)
      const limit = new RequestLimit(context.limits, context.scheduler, admission.requests)
      const stream = http2StreamOf(call)
      if (stream !== undefined) allowances.giveBack(stream, client, () => limit.takeFrames() === undefined)
      if (client.address !== undefined) gate?.succeeded(client.address)
      return admission
    }
    const watch = new SessionWatch({
      monitor,
      interface: 'grpc',
      peer: address,
      now: () => context.scheduler.now(),
      openTelemetry: context.openTelemetry,
      traceparent: traceparentOf(call),
    })
    const watched = watchedContext({ ...context, admit }, watch)
    const converse = (incoming$: typeof link.incoming$) =>
      serveDataflow(incoming$, link, watched).pipe(watchConversation(watch))
    const running = sessions.add(serveLink(link, converse, watched))
    running.add(leaveUnstarted)
    // Only the call reports a client that disconnects after its half-close, or while it is not read from.
    call.once('cancelled', () => {
      watch.ended('gone')
      running.unsubscribe()
    })
  }
  return (call) => void serve(call)
}

const forwardedFor = ({ metadata }: Call): string | undefined =>
  metadata.get('x-forwarded-for').map(String).join(', ') || undefined

const traceparentOf = ({ metadata }: Call): string | undefined => {
  const [value, second] = metadata.get(traceparentHeader)
  return typeof value === 'string' && second === undefined ? value : undefined
}

/** Refuses a stream before its first message, with the same response as for any other refused Start. */
const refuseStream = (link: Link<DataflowMessage, DataflowMessage>, error: SpeechError): void => {
  const content = writeDataflowResponse(refusalText(error), 'Start')
  link.send({ contentType: contentType.response, content, binaryContent: new Uint8Array(0) })
  link.close(error)
}

/** Parses the peer as written by the gRPC package: `127.0.0.1:50000` or `[::1]:50000`. */
const peerOf = (peer: string): Connection => {
  const [, host = peer, port] = /^(.*):(\d+)$/.exec(peer) ?? []
  return { remoteAddress: host.replace(/^\[(.*)\]$/, '$1'), remotePort: Number(port ?? 0) }
}

const refuseAbove =
  (maxMessageBytes: number) =>
  (message: DataflowMessage): SpeechError | undefined => {
    const unreadable = unreadableError(message)
    if (unreadable !== undefined) return unreadable
    const { content, binaryContent } = message
    const sizeBytes = (content === '' ? 0 : Buffer.byteLength(content)) + binaryContent.length
    if (sizeBytes <= maxMessageBytes) return undefined
    const text = `A message of ${sizeBytes} bytes is larger than the ${maxMessageBytes} allowed.`
    return new SpeechError('message-too-big', text)
  }
