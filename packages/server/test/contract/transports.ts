import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { WebSocketServer } from 'ws'
import { grpcServerLink } from '../../../../src/transport/grpc/server.js'
import { dialGrpc } from '../../../../src/transport/grpc/client.js'
import { resolveLimits, type LinkLimits } from '../../../../src/transport/limits.js'
import type { DataflowMessage, Link, SocketMessage } from '../../../../src/transport/link.js'
import { loadDataflow } from '../../../../src/transport/grpc/proto.js'
import { dialMemory } from '../../../../src/transport/memory/link.js'
import { webSocketLink } from '../../../../src/transport/websocket/server.js'
import { dialWebSocket } from '../../../../src/transport/websocket/client.js'
import { listen, stop, tcpProxy } from '../../../../test/transport/tcp-proxy.js'
import type { TestCertificates } from '../test-certificates.js'
import { mailbox, type Served, type Transport } from './harness.js'

const socketMessages = {
  text: (text: string): SocketMessage => text,
  audio: (bytes: Uint8Array): SocketMessage => bytes,
  read: (message: SocketMessage): string | number => (typeof message === 'string' ? message : message.byteLength),
}

export const memoryTransport: Transport<SocketMessage> = {
  name: 'memory',
  halfCloses: true,
  clientGivesReasons: true,
  ...socketMessages,
  serve: async (limits) => {
    const links = mailbox<Link<SocketMessage, SocketMessage>>()
    return {
      dial: (dialLimits) => dialMemory(links.put, { ...limits, ...dialLimits }),
      accepted: links.take,
      close: async () => {},
    }
  },
}

const serveWebSocket = async (
  limits: LinkLimits,
  tls: TestCertificates | undefined,
): Promise<Served<SocketMessage>> => {
  const http = tls === undefined ? createHttpServer() : createHttpsServer({ key: tls.key, cert: tls.certificate })
  const { maxMessageBytes } = resolveLimits(limits)
  const sockets = new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: maxMessageBytes })
  const links = mailbox<Link<SocketMessage, SocketMessage>>()
  sockets.on('connection', (socket) => links.put(webSocketLink(socket, limits)))
  const proxy = await tcpProxy(await listen(http))
  const scheme = tls === undefined ? 'ws' : 'wss'
  return {
    dial: (dialLimits) =>
      dialWebSocket({ url: `${scheme}://127.0.0.1:${proxy.port}/`, ...(tls && { ca: tls.ca }), ...dialLimits }),
    accepted: links.take,
    cut: proxy.cut,
    close: async () => {
      await proxy.close()
      await stop(http)
    },
  }
}

export const webSocketTransport = (tls?: TestCertificates): Transport<SocketMessage> => ({
  name: tls === undefined ? 'websocket' : 'websocket over TLS',
  halfCloses: false,
  clientGivesReasons: true,
  ...socketMessages,
  serve: (limits = {}) => serveWebSocket(limits, tls),
  dialPort: (port, connectTimeoutMs) =>
    dialWebSocket({ url: `${tls === undefined ? 'ws' : 'wss'}://127.0.0.1:${port}/?token=secret`, connectTimeoutMs }),
})

type ServerCall = ServerDuplexStream<DataflowMessage, DataflowMessage>

const serveGrpc = async (limits: LinkLimits, tls: TestCertificates | undefined): Promise<Served<DataflowMessage>> => {
  const server = new Server({ 'grpc.max_receive_message_length': resolveLimits(limits).maxMessageBytes })
  const links = mailbox<Link<DataflowMessage, DataflowMessage>>()
  server.addService({ ...loadDataflow() }, { Stream: (call: ServerCall) => links.put(grpcServerLink(call, limits)) })
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [
          { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) },
        ])
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)))
  })
  const proxy = await tcpProxy(port)
  const trust = tls === undefined ? { insecure: true } : { ca: tls.ca }
  return {
    dial: (dialLimits) => dialGrpc({ url: `127.0.0.1:${proxy.port}`, ...trust, ...dialLimits }),
    accepted: links.take,
    cut: proxy.cut,
    close: async () => {
      await proxy.close()
      server.forceShutdown()
    },
  }
}

export const grpcTransport = (tls?: TestCertificates): Transport<DataflowMessage> => ({
  name: tls === undefined ? 'grpc' : 'grpc over TLS',
  halfCloses: true,
  clientGivesReasons: false,
  text: (text) => ({ contentType: 2, content: text, binaryContent: new Uint8Array(0) }),
  audio: (bytes) => ({ contentType: 0, content: '', binaryContent: bytes }),
  read: ({ contentType, content, binaryContent }) => (contentType === 0 ? binaryContent.byteLength : content),
  serve: (limits = {}) => serveGrpc(limits, tls),
  dialPort: (port, connectTimeoutMs) =>
    dialGrpc({ url: `127.0.0.1:${port}`, insecure: tls === undefined, connectTimeoutMs }),
})
