import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { fromEvent, map, takeUntil, tap, type MonoTypeOperatorFunction } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { grpcServerLink } from '../../transport/grpc/grpc-server-link.js'
import type { DataflowMessage } from '../../transport/link.js'
import { loadDataflow } from '../../transport/grpc/load-dataflow.js'
import { silentMonitor } from '../monitor/join-monitors.js'
import type { ServiceMonitor } from '../monitor/service-monitor.js'
import { SessionWatch } from '../monitor/session-watch.js'
import { watchConversation } from '../monitor/watch-conversation.js'
import { dataflowConversation, type DataflowTerms } from '../conversation/dataflow-conversation.js'
import {
  checkPlainText,
  hostPort,
  listenError,
  withCertificate,
  type ListenAddress,
  type ServerCertificate,
} from './listen-address.js'
import { serveLink } from './serve-link.js'
import type { SessionSet } from './session-set.js'

export interface DataflowListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate
  readonly terms: DataflowTerms
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  /** Told of every session. */
  readonly monitor?: ServiceMonitor
  /** Adds what else the server answers, before it listens. */
  readonly addServices?: (server: Server) => void
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
  const { address, certificate, terms, sessions, maxMessageBytes, monitor = silentMonitor } = options
  checkPlainText(address, certificate)
  const server = new Server({
    // Somewhat more than what is allowed arrives, so that its refusal can be told by name.
    'grpc.max_receive_message_length': 4 * maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': 60_000,
    'grpc.keepalive_timeout_ms': 20_000,
    'grpc.max_connection_idle_ms': 300_000,
  })
  server.addService(
    { ...loadDataflow() },
    {
      Stream: (call: ServerDuplexStream<DataflowMessage, DataflowMessage>) => {
        const link = grpcServerLink(call, { maxMessageBytes })
        const peer = hostOfPeer(call.getPeer())
        const watch = new SessionWatch({ monitor, interface: 'grpc', peer, now: () => terms.scheduler.now() })
        const converse = (incoming$: typeof link.incoming) =>
          dataflowConversation(incoming$.pipe(refuseAbove(maxMessageBytes)), link, { ...terms, watch }).pipe(
            watchConversation(watch),
          )
        // A client that has half-closed can still vanish, and one that is not read from, too; only the call tells.
        const gone$ = fromEvent(call, 'cancelled').pipe(tap(() => watch.ended('gone')))
        sessions.add(serveLink(link, converse, terms.onFault).pipe(takeUntil(gone$)))
      },
    },
  )
  options.addServices?.(server)
  const port = await bind(server, options).catch((error: unknown) => {
    server.forceShutdown()
    throw error
  })
  return {
    address: hostPort(address, port),
    stopAccepting: () =>
      new Promise((resolve) => {
        server.tryShutdown(() => {
          resolve()
        })
      }),
    close: () => {
      server.forceShutdown()
    },
  }
}

/** A peer of the gRPC package, `127.0.0.1:50000` or `[::1]:50000`, without its port. */
const hostOfPeer = (peer: string): string => peer.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')

const refuseAbove = (maxMessageBytes: number): MonoTypeOperatorFunction<DataflowMessage> =>
  map((message) => {
    const sizeBytes = Buffer.byteLength(message.content) + message.binaryContent.length
    if (sizeBytes <= maxMessageBytes) return message
    const text = `A message of ${sizeBytes} bytes is larger than the ${maxMessageBytes} allowed.`
    throw new SpeechError('message-too-big', text)
  })

const bind = async (server: Server, { address, certificate }: DataflowListenerOptions): Promise<number> => {
  const credentials =
    certificate === undefined
      ? ServerCredentials.createInsecure()
      : withCertificate(() =>
          ServerCredentials.createSsl(null, [
            { private_key: Buffer.from(certificate.key), cert_chain: Buffer.from(certificate.certificate) },
          ]),
        )
  const { host, port } = address
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, (error, bound) => {
      if (error === null) resolve(bound)
      else reject(listenError(address, Object.assign(error, codeIn(error.message))))
    })
  })
}

/** The gRPC package tells the system's code in its text only. */
const codeIn = (text: string): { readonly code?: string } => {
  const [code] = /\bE[A-Z]{4,}\b/.exec(text) ?? []
  return code === undefined ? {} : { code }
}
