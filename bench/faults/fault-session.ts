import type { Observable } from 'rxjs'
import WebSocket from 'ws'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { Recognition } from '../../src/client/session.js'
import type { SessionOptions, TokenSource } from '../../src/client/options.js'
import type { Token } from '../../src/protocol/token.js'
import type { ModelChoice } from '../../packages/service/src/cli/service/access.js'
import type { VerifyingService } from '../../src/testing/verifying/verifying-service.js'
import type { LinkFaults } from '../../src/testing/faults/link-faults.js'
import { dialGrpc } from '../../src/transport/grpc/client.js'
import type { SocketClass } from '../../src/transport/websocket/dial.js'
import { dialWebSocket } from '../../src/transport/websocket/client.js'
import { usageError } from '../../packages/service/src/cli/process/failure.js'

export type Transport = 'websocket' | 'grpc'

/** The service that a run connects to. */
export interface FaultTarget {
  /** URL of the recognition socket. */
  readonly url?: string | undefined
  /** `host:port` of the dataflow stream. */
  readonly grpc?: string | undefined
  readonly isPlaintext: boolean
  readonly ca?: string | undefined
  readonly tenant: string
  readonly project: string
  readonly model?: ModelChoice | undefined
  readonly token: FaultTokens
  /** Chunks of 20 ms, mono PCM at 8 kHz. */
  readonly audio: readonly Uint8Array[]
  /** Verifies what arrived, if the service can. */
  readonly verifier?: VerifyingService | undefined
  readonly close: () => Promise<void>
}

/** Source of the tokens: one fixed token, or a new one for each subscription. */
export type FaultTokens =
  | { readonly type: 'fixed'; readonly token: string }
  | { readonly type: 'renewed'; readonly token$: Observable<string | Token> }

export const tokenSourceOf = (tokens: FaultTokens): TokenSource =>
  tokens.type === 'fixed' ? tokens.token : tokens.token$

/** The audio that every run sends: 8 s, as in the measurements of the peers. */
export const audioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
export const audioMs = 8_000
export const chunkMs = 20
export const chunkSamples = 160

/** How a session reaches its service through a proxy. */
export interface Detour {
  /** `127.0.0.1:port` of the proxy. */
  readonly address: string
  /** Faults on messages, if the run has any. */
  readonly links: LinkFaults | undefined
}

/** The session options that do not concern the address. */
export type FaultSessionOptions = Omit<SessionOptions, 'url'>

/** A session of this client with the service, through the proxy. The certificate must have the service's own name. */
export const faultSession = (
  over: Transport,
  target: FaultTarget,
  detour: Detour,
  options: FaultSessionOptions,
): Recognition => (over === 'grpc' ? overGrpc(target, detour, options) : overWebSocket(target, detour, options))

const overGrpc = (
  { grpc, ca, isPlaintext, tenant, project, model }: FaultTarget,
  { address, links }: Detour,
  options: FaultSessionOptions,
): Recognition => {
  const { hostname } = new URL(`https://${grpc ?? ''}`)
  return dataflow({
    ...options,
    url: address,
    connection: { proxy: false, insecure: isPlaintext, ca: isPlaintext ? undefined : ca },
    ...(!isPlaintext && {
      channelOptions: { 'grpc.ssl_target_name_override': hostname, 'grpc.default_authority': hostname },
    }),
    tenant,
    project,
    settings: model && { ModelName: model.name, ...(model.tenant !== undefined && { ModelTenant: model.tenant }) },
    testing: { dial: links?.wrap(dialGrpc) },
  })
}

const overWebSocket = (
  { url, ca, model }: FaultTarget,
  { address, links }: Detour,
  options: FaultSessionOptions,
): Recognition => {
  if (url === undefined || model === undefined)
    throw usageError('A session over WebSocket needs a model; set --model NAME.')
  const service = new URL(url)
  const proxied = new URL(url)
  proxied.host = address
  return recognize({
    ...options,
    url: proxied.href,
    connection: { proxy: false, ca },
    WebSocket: namedSocket(service),
    model: model.name,
    tenant: model.tenant,
    testing: { dial: links?.wrap(dialWebSocket) },
  })
}

/**
 * A socket to the proxy that requests the service by its name: in TLS (no server name for an IP address) and in HTTP.
 */
const namedSocket = ({ host, hostname }: URL): SocketClass => {
  const isNumber = /^[\d.]+$|^\[/.test(hostname)
  return class extends WebSocket {
    constructor(url: string, protocols?: string[], options: WebSocket.ClientOptions = {}) {
      const headers = { ...options.headers, Host: host }
      super(url, protocols ?? [], { ...options, headers, ...(isNumber ? {} : { servername: hostname }) })
    }
  }
}
