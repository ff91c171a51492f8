import { Server, type ServerDuplexStream } from '@grpc/grpc-js'
import { finalize, fromEvent, map, takeUntil, tap, type MonoTypeOperatorFunction } from 'rxjs'
import { refusalText } from '../../errors/refusal.js'
import { SpeechError } from '../../errors/speech-error.js'
import { contentType, writeDataflowResponse } from '../../protocol/dataflow-messages.js'
import {
  grpcServerLink,
  closeSessionSoon,
  http2StreamOf,
  reportUnreadable,
  unreadableError,
} from '../../transport/grpc/server.js'
import type { DataflowMessage, Link } from '../../transport/link.js'
import { loadDataflow } from '../../transport/grpc/proto.js'
import { silentMonitor, type ServiceMonitor } from '../monitor/service-monitor.js'
import { SessionWatch, watchConversation } from '../monitor/session-watch.js'
import { serveDataflow } from '../dataflow/session.js'
import type { DataflowContext } from '../sessions/session-context.js'
import { AcceptedConnections, type Connection, type ProxyTrust } from './accepted-connections.js'
import { tooManyUnstarted, type ConnectionGate, type ConnectionLimits } from './connection-gate.js'
import { defaultGrpcPatience, keepaliveOptions, listenForGrpc, type GrpcPatience } from './grpc-connections.js'
import { checkPlainText, hostPort, type ListenAddress, type ServerCertificate } from './listen-address.js'
import { RequestAllowances } from './request-allowance.js'
import { serveLink, type SessionSet } from './serve-link.js'

export interface DataflowListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate | undefined
  readonly terms: DataflowContext
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  /** Told of every session. */
  readonly monitor?: ServiceMonitor
  /** Adds what else the server answers, before it listens. */
  readonly addServices?: (server: Server) => void
  /** Counts connections, and streams that have not started; without it none is too many. */
  readonly gate?: ConnectionGate
  /** Proxies whose word on the address of a client counts. */
  readonly trust?: ProxyTrust | undefined
  readonly limits: Pick<ConnectionLimits, 'streamsPerConnection' | 'connectionAgeMs' | 'connectionGraceMs'>
  readonly patience?: GrpcPatience
}

export interface DataflowListener {
  /** `host:port`. */
  readonly address: string
  /** Takes no more connections and streams; resolves when the last one has ended. */
  readonly stopAccepting: () => Promise<void>
  /** Cuts what is still open. */
  readonly close: () => void
}

/** The gRPC interface (service.md 4.1). Rejects with `listen-failed`, or `invalid-options` as `openHttp` does. */
export const openDataflow = async (options: DataflowListenerOptions): Promise<DataflowListener> => {
  const { address, certificate, maxMessageBytes, gate, trust, patience = defaultGrpcPatience } = options
  const { streamsPerConnection, connectionAgeMs, connectionGraceMs } = options.limits
  checkPlainText(address, certificate)
  const server = new Server({
    // Somewhat more than what is allowed arrives, so that its refusal can be told by name.
    'grpc.max_receive_message_length': 4 * maxMessageBytes,
    'grpc.max_send_message_length': -1,
    ...keepaliveOptions(patience),
    'grpc.max_connection_idle_ms': 300_000,
    'grpc.max_concurrent_streams': streamsPerConnection,
    ...(connectionAgeMs > 0 && { 'grpc.max_connection_age_ms': connectionAgeMs }),
    'grpc.max_connection_age_grace_ms': connectionGraceMs,
    interceptors: [reportUnreadable],
  })
  const accepted = new AcceptedConnections({ gate, trust, headerWithinMs: patience.handshakeMs })
  const allowances = new RequestAllowances(streamsPerConnection)
  server.addService({ ...loadDataflow() }, { Stream: streamHandler(options, accepted, allowances) })
  options.addServices?.(server)
  const listen = { address, certificate, accepted, patience, allowances }
  const connections = await listenForGrpc(server, listen).catch((error: unknown) => {
    server.forceShutdown()
    throw error
  })
  return {
    address: hostPort(address, connections.port),
    stopAccepting: () => {
      connections.stop()
      return new Promise((resolve) => {
        server.tryShutdown(() => {
          resolve()
        })
      })
    },
    close: () => {
      connections.stop()
      server.forceShutdown()
      connections.cut()
    },
  }
}

type Call = ServerDuplexStream<DataflowMessage, DataflowMessage>

const streamHandler = (
  options: DataflowListenerOptions,
  connections: AcceptedConnections,
  allowances: RequestAllowances,
): ((call: Call) => void) => {
  const { terms, sessions, maxMessageBytes, monitor = silentMonitor, gate } = options
  return (call) => {
    const link = grpcServerLink(call, { maxMessageBytes })
    const peer = peerOf(call.getPeer())
    const address = connections.addressOf(peer) ?? 'unknown'
    const tooMany = connections.refusal(peer)
    const started = gate?.takeUnstarted(address)
    if (tooMany !== undefined || (gate !== undefined && started === undefined)) {
      started?.()
      const error = tooMany ?? tooManyUnstarted()
      monitor.refused('grpc', error.code)
      refuseStream(link, error)
      // The connection itself is one too many, and ends with its last stream.
      if (tooMany !== undefined) closeSessionSoon(http2StreamOf(call)?.session)
      return
    }
    const admit: DataflowContext['admit'] = async (...presented) => {
      started?.()
      const admission = await terms.admit(...presented)
      const session = http2StreamOf(call)?.session
      if (session !== undefined) allowances.of(session).giveBack()
      return admission
    }
    const watch = new SessionWatch({
      monitor,
      interface: 'grpc',
      peer: address,
      now: () => terms.scheduler.now(),
    })
    const converse = (incoming$: typeof link.incoming$) =>
      serveDataflow(incoming$.pipe(refuseAbove(maxMessageBytes)), link, { ...terms, admit, watch }).pipe(
        watchConversation(watch),
        finalize(() => started?.()),
      )
    // A client that has half-closed can still vanish, and one that is not read from, too; only the call tells.
    const gone$ = fromEvent(call, 'cancelled').pipe(tap(() => watch.ended('gone')))
    sessions.add(serveLink(link, converse, terms).pipe(takeUntil(gone$)))
  }
}

/** Refused before anything was looked at; the response has the shape of every other refusal. */
const refuseStream = (link: Link<DataflowMessage, DataflowMessage>, error: SpeechError): void => {
  const content = writeDataflowResponse(refusalText(error), 'Start')
  link.send({ contentType: contentType.response, content, binaryContent: new Uint8Array(0) })
  link.close(error)
}

/** A peer of the gRPC package, `127.0.0.1:50000` or `[::1]:50000`. */
const peerOf = (peer: string): Connection => {
  const [, host = peer, port] = /^(.*):(\d+)$/.exec(peer) ?? []
  return { remoteAddress: host.replace(/^\[(.*)\]$/, '$1'), remotePort: Number(port ?? 0) }
}

const refuseAbove = (maxMessageBytes: number): MonoTypeOperatorFunction<DataflowMessage> =>
  map((message) => {
    const unreadable = unreadableError(message)
    if (unreadable !== undefined) throw unreadable
    const sizeBytes = Buffer.byteLength(message.content) + message.binaryContent.length
    if (sizeBytes <= maxMessageBytes) return message
    const text = `A message of ${sizeBytes} bytes is larger than the ${maxMessageBytes} allowed.`
    throw new SpeechError('message-too-big', text)
  })
