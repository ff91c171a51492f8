import WebSocket from 'ws'
import { dataflow } from '../../client/dataflow/dataflow.js'
import { recognize } from '../../client/recognizer/recognize.js'
import type { Recognition } from '../../client/recognizer/recognize-on.js'
import type { SessionOptions } from '../../client/options.js'
import type { LinkFaults } from '../../testing/faults/link-faults.js'
import { dialGrpc } from '../../transport/grpc/client.js'
import type { SocketClass } from '../../transport/websocket/dial.js'
import { dialWebSocket } from '../../transport/websocket/client.js'
import { usageError } from '../process/failure.js'
import type { FaultTarget, Transport } from './fault-target.js'

/** How a session reaches its service through a proxy. */
export interface Detour {
  /** `127.0.0.1:port` of the proxy. */
  readonly address: string
  /** Faults on messages, where the run has any. */
  readonly links: LinkFaults | undefined
}

/** A session of this client with the service, through the proxy. The service's own name is what its certificate must have. */
export const faultSession = (
  over: Transport,
  target: FaultTarget,
  detour: Detour,
  options: SessionOptions,
): Recognition => (over === 'grpc' ? overGrpc(target, detour, options) : overWebSocket(target, detour, options))

const overGrpc = (
  { grpc, ca, isPlaintext, tenant, project, model }: FaultTarget,
  { address, links }: Detour,
  options: SessionOptions,
): Recognition => {
  const { hostname } = new URL(`https://${grpc ?? ''}`)
  return dataflow({
    ...options,
    address,
    proxy: false,
    ...(isPlaintext
      ? { insecure: true }
      : { channelOptions: { 'grpc.ssl_target_name_override': hostname, 'grpc.default_authority': hostname } }),
    ...(ca === undefined || isPlaintext ? {} : { rootCertificates: ca }),
    tenant,
    projectName: project,
    ...(model === undefined
      ? {}
      : {
          settings: {
            ModelName: model.name,
            ...(model.tenant === undefined ? {} : { ModelTenant: model.tenant }),
          },
        }),
    ...(links === undefined ? {} : { dial: links.wrap(dialGrpc) }),
  })
}

const overWebSocket = (
  { url, ca, model }: FaultTarget,
  { address, links }: Detour,
  options: SessionOptions,
): Recognition => {
  if (url === undefined || model === undefined)
    throw usageError('A session over WebSocket names its model; give --model NAME.')
  const service = new URL(url)
  const proxied = new URL(url)
  proxied.host = address
  return recognize({
    ...options,
    url: proxied.href,
    proxy: false,
    WebSocket: namedSocket(service),
    ...(ca === undefined ? {} : { ca }),
    modelName: model.name,
    ...(model.tenant === undefined ? {} : { modelTenant: model.tenant }),
    ...(links === undefined ? {} : { dial: links.wrap(dialWebSocket) }),
  })
}

/** A socket to the proxy that asks for the service by its name: in TLS (none for a number), and in HTTP. */
const namedSocket = ({ host, hostname }: URL): SocketClass => {
  const isNumber = /^[\d.]+$|^\[/.test(hostname)
  return class extends WebSocket {
    constructor(url: string, protocols?: string[], options: WebSocket.ClientOptions = {}) {
      const headers = { ...options.headers, Host: host }
      super(url, protocols ?? [], { ...options, headers, ...(isNumber ? {} : { servername: hostname }) })
    }
  }
}
