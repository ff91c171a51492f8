import { type ChannelCredentials, type ChannelOptions, Client, connectivityState, credentials } from '@grpc/grpc-js'
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { type Observable, Subject } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { ProxyOption } from '../../protocol/proxy-option.js'
import { type Proxy, proxyFor } from '../../proxy/proxy.js'

/** The target of a channel; sessions with equal targets share a connection. */
export interface ChannelTarget {
  /** `host:port`, or `host` for port 443, or a gRPC target such as `unix:/run/speech.sock`. */
  readonly address: string
  /** CA certificates in PEM, in place of the system's. */
  readonly rootCertificates?: string | Uint8Array | undefined
  /** No TLS: for a service on this machine or behind a proxy that adds TLS. @default false */
  readonly insecure?: boolean | undefined
  /**
   * The HTTP proxy to go through, such as `http://user:password@proxy.example.com:3128`; `false` for none.
   * @default what `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment say, by the same rules as for a WebSocket
   */
  readonly proxy?: ProxyOption | undefined
  /** Options of the gRPC package; they override those of the library. */
  readonly channelOptions?: ChannelOptions | undefined
  /**
   * The period of the HTTP/2 pings in milliseconds. A peer that does not answer within the period ends its sessions with
   * `connection-lost`. 0: no pings. When a server refuses pings as too frequent, its address gets none any more.
   * @default 0
   */
  readonly keepaliveMs?: number | undefined
}

export interface OpenChannel {
  readonly client: Client
  readonly release: () => void
  /** Emits when the channel has lost a connection that was ready, or has been told to leave it; calls on it may go on. */
  readonly left$: Observable<void>
}

interface Shared {
  readonly client: Client
  readonly left$: Subject<void>
  users: number
}

/** The channels of each target. */
const shared = new Map<string, readonly Shared[]>()

/** The number of streams that servers should allow for a connection (RFC 9113 section 6.5.2); more would wait silently. */
const maxUsers = 100

/** Addresses whose server refused pings. */
const addressesWithoutPings = new Set<string>()
const maxAddressesWithoutPings = 1_000

/** To be called when the server at this address ended a connection because of pings: no more are sent there. */
export const stopPinging = (address: string): void => {
  if (addressesWithoutPings.size >= maxAddressesWithoutPings) addressesWithoutPings.clear()
  addressesWithoutPings.add(address)
}

/** `host:port` for messages. */
export const targetName = (address: string): string => (/:\d+$|^unix:/.test(address) ? address : `${address}:443`)

const checkTarget = ({ address, rootCertificates, insecure }: ChannelTarget): void => {
  if (address === '' || /\s|^(https?|grpcs?|wss?):/.test(address)) {
    throw new SpeechError('invalid-options', 'address must be host:port, without a scheme.')
  }
  if (insecure === true && rootCertificates !== undefined) {
    throw new SpeechError(
      'invalid-options',
      'rootCertificates cannot be used together with insecure; give one of them.',
    )
  }
  if (rootCertificates === undefined) return
  try {
    // Node reads a text without a certificate as an empty list, and then trusts no server without an explanation.
    new X509Certificate(rootCertificates)
  } catch (error) {
    throw new SpeechError('invalid-options', 'rootCertificates must be certificates in PEM.', { cause: error })
  }
}

const ownOptions = (maxMessageBytes: number, keepaliveMs: number): ChannelOptions => ({
  'grpc.max_receive_message_length': maxMessageBytes,
  // A link has no retry; without a retry buffer a message counts as taken only when the connection took it.
  'grpc.enable_retries': 0,
  'grpc.per_rpc_retry_buffer_size': 0,
  // A failed connection is discarded with its channel, and a shared one reconnects soon, since sessions do the backoff.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  ...(keepaliveMs > 0 && { 'grpc.keepalive_time_ms': keepaliveMs, 'grpc.keepalive_timeout_ms': keepaliveMs }),
})

/** The IP address of a target that has one: the certificate is checked against it, but it must not be a TLS server name. */
const ipOf = (address: string): string | undefined => {
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? undefined : host
}

/** The TLS server name (RFC 6066 section 3) of a target that has only an address; it is never looked up. */
const serverNameOfAddress = 'ip.invalid'

const tlsCredentials = ({ address, rootCertificates }: ChannelTarget): ChannelCredentials => {
  const roots = rootCertificates === undefined ? null : Buffer.from(rootCertificates)
  const ip = ipOf(address)
  if (ip === undefined) return credentials.createSsl(roots)
  const checkIp = (_name: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(ip, certificate)
  return credentials.createSsl(roots, null, null, { checkServerIdentity: checkIp })
}

const openClient = (target: ChannelTarget, proxy: Proxy | undefined, options: ChannelOptions): Client => {
  const { address, insecure } = target
  const way = channelThrough(address, proxy)
  try {
    if (insecure === true) return new Client(way.address, credentials.createInsecure(), { ...way.options, ...options })
    const serverName = ipOf(address) === undefined ? {} : { 'grpc.ssl_target_name_override': serverNameOfAddress }
    return new Client(way.address, tlsCredentials(target), { ...way.options, ...serverName, ...options })
  } catch (error) {
    const message = 'address, rootCertificates or channelOptions cannot be used as they are.'
    throw new SpeechError('invalid-options', message, { cause: error })
  }
}

const share = (client: Client): Shared => {
  const left$ = new Subject<void>()
  watchConnection(client, () => left$.next())
  return { client, left$, users: 0 }
}

/** Until the channel is closed. */
const watchConnection = (client: Client, left: () => void): void => {
  const channel = client.getChannel()
  const state = channel.getConnectivityState(false)
  if (state === connectivityState.SHUTDOWN) return
  channel.watchConnectivityState(state, Infinity, () => {
    if (state === connectivityState.READY) left()
    watchConnection(client, left)
  })
}

const optionsOf = (target: ChannelTarget, maxMessageBytes: number): ChannelOptions => {
  const keepaliveMs = addressesWithoutPings.has(target.address) ? 0 : (target.keepaliveMs ?? 0)
  return { ...ownOptions(maxMessageBytes, keepaliveMs), ...target.channelOptions }
}

const keyOf = (target: ChannelTarget, proxy: Proxy | undefined, options: ChannelOptions): string => {
  const certificates = target.rootCertificates === undefined ? null : Buffer.from(target.rootCertificates).toString()
  const way = proxy === undefined ? null : [proxy.url.href, proxy.credentials]
  return JSON.stringify([target.address, target.insecure === true, certificates, options, way])
}

const isShareable = ({ users }: Shared): boolean => users < maxUsers

/** Whether there is a channel for this target that another call may share. */
export const isChannelOpen = (target: ChannelTarget, proxy: Proxy | undefined, maxMessageBytes: number): boolean =>
  (shared.get(keyOf(target, proxy, optionsOf(target, maxMessageBytes))) ?? []).some(isShareable)

/**
 * The client of a channel for this target, opened when the first asks and closed when the last has released it (once
 * each). A hundred share one. Throws `invalid-options`.
 */
export const shareChannel = (target: ChannelTarget, proxy: Proxy | undefined, maxMessageBytes: number): OpenChannel => {
  checkTarget(target)
  const options = optionsOf(target, maxMessageBytes)
  const key = keyOf(target, proxy, options)
  const channels = shared.get(key) ?? []
  const known = channels.find(isShareable)
  const entry = known ?? share(openClient(target, proxy, options))
  if (known === undefined) shared.set(key, [...channels, entry])
  entry.users += 1
  return {
    client: entry.client,
    left$: entry.left$,
    release: () => {
      entry.users -= 1
      if (entry.users > 0) return
      const others = (shared.get(key) ?? []).filter((other) => other !== entry)
      if (others.length > 0) shared.set(key, others)
      else shared.delete(key)
      entry.client.close()
    },
  }
}

/** The part of a target that decides about the proxy. */
export interface ProxiedTarget {
  readonly address: string
  readonly insecure?: boolean | undefined
  readonly proxy?: ProxyOption | undefined
}

/** The proxy for a target that is looked up as a name; others, such as `unix:`, have none. Throws `invalid-options`. */
export const proxyOfTarget = ({ address, insecure, proxy: option }: ProxiedTarget): Proxy | undefined => {
  const authority = authorityOf(address)
  const target = `${insecure === true ? 'http' : 'https'}://${authority}`
  if (authority === undefined || !URL.canParse(target)) return undefined
  const proxy = proxyFor(new URL(target), option)
  if (proxy === undefined || proxy.url.protocol === 'http:') return proxy
  throw new SpeechError(
    'invalid-options',
    'The proxy of a gRPC session must have an address that begins with http://; the gRPC package supports no other.',
  )
}

const authorityOf = (address: string): string | undefined => {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(?!\d)(?:\/\/[^/]*\/)?(.*)$/i.exec(address) ?? []
  if (scheme === undefined) return address
  return scheme.toLowerCase() === 'dns' ? rest : undefined
}

interface ProxiedChannel {
  /** What the channel connects to. */
  readonly address: string
  readonly options: ChannelOptions
}

/**
 * The options of a channel through a proxy, or directly. The gRPC package's own reading of the environment is off, so that
 * the same rules hold for every connection; the proxy is set by the options that the package sets internally.
 */
const channelThrough = (address: string, proxy: Proxy | undefined): ProxiedChannel => {
  const direct = { 'grpc.enable_http_proxy': 0 }
  if (proxy === undefined) return { address, options: direct }
  const authority = authorityOf(address) ?? address
  return {
    address: `dns:${proxy.name}`,
    options: {
      ...direct,
      'grpc.http_connect_target': `dns:${authority}`,
      'grpc.default_authority': authority,
      ...(proxy.credentials === undefined ? {} : { 'grpc.http_connect_creds': proxy.credentials }),
    },
  }
}
