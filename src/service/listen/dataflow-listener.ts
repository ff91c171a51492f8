import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import type { DataflowMessage } from '../../transport/link.js'
import { grpcServerLink } from '../../transport/grpc-server-link.js'
import { loadDataflow } from '../../transport/load-dataflow.js'
import { dataflowConversation, type DataflowTerms } from '../conversation/dataflow-conversation.js'
import { checkPlainText, hostPort, listenError, type ListenAddress, type ServerCertificate } from './listen-address.js'
import { serveLink } from './serve-link.js'
import type { SessionSet } from './session-set.js'

export interface DataflowListenerOptions {
  readonly address: ListenAddress
  readonly certificate?: ServerCertificate
  readonly terms: DataflowTerms
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
}

export interface DataflowListener {
  /** `host:port`. */
  readonly address: string
  /** Takes no more streams. */
  readonly stopAccepting: () => void
  readonly close: () => void
}

/** The gRPC interface (service.md 4.1). Rejects with `listen-failed`, or `invalid-options` for plain text beyond loopback. */
export const openDataflow = async (options: DataflowListenerOptions): Promise<DataflowListener> => {
  const { address, certificate, terms, sessions, maxMessageBytes } = options
  checkPlainText(address, certificate)
  const server = new Server({
    // The bound is for the audio; the message around it takes a few bytes more.
    'grpc.max_receive_message_length': maxMessageBytes + 1024,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': 60_000,
    'grpc.keepalive_timeout_ms': 20_000,
  })
  server.addService(
    { ...loadDataflow() },
    {
      Stream: (call: ServerDuplexStream<DataflowMessage, DataflowMessage>) => {
        const link = grpcServerLink(call)
        sessions.add(serveLink(link, (incoming$) => dataflowConversation(incoming$, link, terms)))
      },
    },
  )
  const port = await bind(server, options)
  return {
    address: hostPort(address, port),
    stopAccepting: () => {
      server.tryShutdown(() => undefined)
    },
    close: () => {
      server.forceShutdown()
    },
  }
}

const bind = (server: Server, { address, certificate }: DataflowListenerOptions): Promise<number> => {
  const credentials =
    certificate === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [
          { private_key: Buffer.from(certificate.key), cert_chain: Buffer.from(certificate.certificate) },
        ])
  const { host, port } = address
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host.includes(':') ? `[${host}]` : host}:${port}`, credentials, (error, bound) => {
      if (error === null) resolve(bound)
      else
        reject(
          listenError(address, Object.assign(error, /EADDRINUSE/.test(error.message) ? { code: 'EADDRINUSE' } : {})),
        )
    })
  })
}
