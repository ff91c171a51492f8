import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { Server } from '@grpc/grpc-js'
import { WebSocketServer } from 'ws'
import { SpeechError } from '../../errors/speech-error.js'
import { subprotocol, refuseUpgrade } from '../../service/listen/upgrade-request.js'
import { keepaliveOptions, listenForGrpc } from '../../service/listen/grpc-connections.js'
import { openHttp } from '../../service/listen/http-listener.js'
import { hostPort, type ServerCertificate } from '../../service/listen/listen-address.js'
import { grpcServerLink } from '../../transport/grpc/server.js'
import { loadDataflow } from '../../transport/grpc/proto.js'
import { webSocketLink } from '../../transport/websocket/server.js'
import { presentedToken, type ProvingDoors } from './proving-doors.js'

export interface ProvingListenOptions {
  /** TLS for both; plain text without it. */
  readonly certificate?: ServerCertificate
  /** The address to listen on; others than those of loopback need a certificate. Default `127.0.0.1`. */
  readonly host?: string
}

/** A service that listens on free ports. */
export interface ListeningProver {
  /** Of the recognition socket, `ws://` or `wss://`. */
  readonly url: string
  /** `host:port` of the dataflow stream. */
  readonly address: string
  /** Cuts what is open and listens no more. Idempotent. */
  close(): Promise<void>
}

/** Rejects with `listen-failed`, or `invalid-options` for a certificate that is none. */
export const listenForProof = async (
  doors: ProvingDoors,
  { certificate, host = '127.0.0.1' }: ProvingListenOptions,
): Promise<ListeningProver> => {
  const address = { host, port: 0 }
  const http = await openHttp(address, { certificate })
  http.handle({
    request: (_request, response) => {
      response.writeHead(404).end()
    },
    upgrade: upgradesTo(doors),
  })
  const server = new Server({ 'grpc.max_send_message_length': -1, ...keepaliveOptions() })
  server.addService(
    { ...loadDataflow() },
    {
      Stream: (call: Parameters<typeof grpcServerLink>[0]) => doors.stream(grpcServerLink(call)),
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

const upgradesTo = (doors: ProvingDoors) => {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  })
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim())
    if (!doors.admit(presentedToken(request.headers.authorization, offered))) {
      refuseUpgrade(socket, new SpeechError('unauthenticated', 'The token is not accepted.'))
      return
    }
    server.handleUpgrade(request, socket, head, (open) => doors.socket(webSocketLink(open)))
  }
}
