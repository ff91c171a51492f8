import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Server } from '@grpc/grpc-js'
import { WebSocketServer } from 'ws'
import { SpeechError } from '../../errors/speech-error.js'
import { checkOptions, nonEmptyText, optionsOf } from '../../protocol/validation.js'
import { subprotocol, refuseUpgrade } from '../../service/listen/upgrade-request.js'
import { keepaliveOptions, listenForGrpc } from '../../service/listen/grpc-connections.js'
import { openHttp } from '../../service/listen/http-listener.js'
import { hostPort, serverCertificateCodec, type ServerCertificate } from '../../service/listen/listen-address.js'
import { grpcServerLink } from '../../transport/grpc/server.js'
import { loadDataflow } from '../../transport/grpc/proto.js'
import { webSocketLink } from '../../transport/websocket/server.js'
import type { DataflowMessage, Link, SocketMessage } from '../../transport/link.js'

/** Where the service listens. */
export interface VerifyingListenOptions {
  /** Enables TLS on both ports. @default none: plain text */
  readonly certificate?: ServerCertificate | undefined
  /**
   * The address to listen on. An address that is not loopback needs a certificate.
   *
   * @default '127.0.0.1'
   */
  readonly host?: string | undefined
}

const listenOptions = optionsOf<VerifyingListenOptions>()(
  {},
  { certificate: serverCertificateCodec, host: nonEmptyText },
)

/** The ports of a verifying service. */
export interface VerifyingListener {
  /** The URL of the WebSocket, `ws://` or `wss://`. */
  readonly url: string
  /** The `host:port` of the gRPC stream. */
  readonly address: string
  /** Closes the ports and all connections. Idempotent. */
  close(): Promise<void>
}

/** Accepts the connections of either transport. */
export interface Endpoints {
  /** Checks the token of an upgrade. A refused upgrade counts as a connection. */
  readonly admit: (token: string | undefined) => boolean
  readonly acceptSocket: (link: Link<SocketMessage, SocketMessage>) => void
  readonly acceptStream: (link: Link<DataflowMessage, DataflowMessage>) => void
}

/** The token of an upgrade, from its header or its subprotocols (PROTOCOL 4.1). */
export const presentedToken = (
  authorization: string | undefined,
  protocols: readonly string[] = [],
): string | undefined =>
  /^Bearer (.+)$/.exec(authorization ?? '')?.[1] ??
  protocols.find((protocol) => protocol.startsWith('bearer.'))?.slice('bearer.'.length)

/** Listens on two free ports. Rejects with `listen-failed`, or `invalid-options` for an invalid certificate. */
export const listen = async (endpoints: Endpoints, options: VerifyingListenOptions): Promise<VerifyingListener> => {
  checkOptions(listenOptions, options)
  const { certificate, host = '127.0.0.1' } = options
  const address = { host, port: 0 }
  const http = await openHttp(address, { certificate })
  http.handle({
    request: (_request, response) => {
      response.writeHead(404).end()
    },
    upgrade: upgradeTo(endpoints),
  })
  const server = new Server({ 'grpc.max_send_message_length': -1, ...keepaliveOptions() })
  server.addService(
    { ...loadDataflow() },
    {
      Stream: (call: Parameters<typeof grpcServerLink>[0]) => endpoints.acceptStream(grpcServerLink(call)),
    },
  )
  const grpc = await listenForGrpc(server, { address, certificate }).catch(async (error: unknown) => {
    await http.close()
    throw error
  })
  let closing: Promise<void> | undefined
  return {
    url: http.url.replace(/^http/, 'ws'),
    address: hostPort(address, grpc.port),
    close: () =>
      (closing ??= (async () => {
        grpc.stopAccepting()
        server.forceShutdown()
        grpc.destroyAll()
        await http.close()
      })()),
  }
}

const upgradeTo = (endpoints: Endpoints) => {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  })
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim())
    if (!endpoints.admit(presentedToken(request.headers.authorization, offered))) {
      refuseUpgrade(socket, new SpeechError('unauthenticated', 'The token is not accepted.'))
      return
    }
    server.handleUpgrade(request, socket, head, (open) => endpoints.acceptSocket(webSocketLink(open)))
  }
}
