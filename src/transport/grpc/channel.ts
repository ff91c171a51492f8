import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  credentials,
  setLogger,
} from '@grpc/grpc-js'
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { type Observable, Subject } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { isLoopback } from '../../protocol/loopback.js'
import { type Proxy, proxyFor } from '../../proxy/proxy.js'
import type { Certificates, ConnectionOptions } from '../limits.js'

/** The target of a channel; sessions with equal targets share a connection. */
export interface ChannelTarget extends Pick<ConnectionOptions, 'ca' | 'insecure' | 'proxy'> {
  /**
   * `host:port`, or `host` for port 443, with TLS unless `insecure`; `grpcs://host:port`, with TLS; `grpc://host:port`,
   * without TLS: for this machine only, unless `insecure`. Or a gRPC target such as `unix:/run/speech.sock`.
   */
  readonly url: string
  /** Options of the gRPC package; they override those of the library. */
  readonly channelOptions?: ChannelOptions | undefined
  /**
   * The period of the HTTP/2 pings in milliseconds. A peer that does not answer within the period ends its sessions
   * with `connection-lost`. 0: no pings. When a server refuses pings as too frequent, no more are sent to its address.
   * @default 0
   */
  readonly heartbeatMs?: number | undefined
}

/** A target as the gRPC package takes it. */
export interface Endpoint extends Omit<ChannelTarget, 'url' | 'ca' | 'insecure'> {
  readonly address: string
  readonly isPlain: boolean
  readonly ca: Buffer | undefined
}

const needsAddress = (): SpeechError =>
  new SpeechError('invalid-options', 'url must be host:port, grpcs://host:port or grpc://host:port.')

/** Throws `invalid-options`, also for a token in clear text to another machine. */
export const endpointOf = <Target extends ChannelTarget>({ url, insecure = false, ca, ...target }: Target) => {
  const [, scheme, rest = ''] = /^(grpcs?):\/\/([^/]*)\/?$/i.exec(url) ?? []
  // As after `grpcs://`, a slash at the end is that of an address without a path.
  const address = scheme === undefined ? url.replace(/^([^/]+)\/$/, '$1') : rest
  if (address === '' || /\s|^(https?|grpcs?|wss?):(?!\d)|^(\[[^\]]*\]|[^:/]*)(:\d+)?\//i.test(address))
    throw needsAddress()
  const isPlain = scheme === undefined ? insecure : scheme.toLowerCase() === 'grpc'
  if (isPlain && !insecure && !isLoopback(hostOf(address))) {
    throw new SpeechError(
      'invalid-options',
      'url must begin with grpcs://, otherwise the token is sent in clear text; or set connection.insecure.',
    )
  }
  return { ...target, address, isPlain, ca: ca === undefined ? undefined : certificatesOf(ca, isPlain) }
}

const certificatesOf = (ca: Certificates, isPlain: boolean): Buffer => {
  if (isPlain)
    throw new SpeechError(
      'invalid-options',
      'ca cannot be used without TLS; leave out connection.ca or connection.insecure.',
    )
  try {
    const certificates = Array.isArray(ca) ? ca : [ca]
    const pem = Buffer.concat(certificates.flatMap((certificate) => [Buffer.from(certificate), Buffer.from('\n')]))
    // Node reads a text without a certificate as an empty list, and then trusts no server, without an explanation.
    new X509Certificate(pem)
    return pem
  } catch (error) {
    throw new SpeechError('invalid-options', 'ca must be certificates in PEM.', { cause: error })
  }
}

export interface OpenChannel {
  readonly client: Client
  readonly release: () => void
  /** Emits when the channel has lost a ready connection, or has received GOAWAY for it; its calls may continue. */
  readonly left$: Observable<void>
}

interface Shared {
  readonly key: string
  readonly client: Client
  readonly left$: Subject<void>
  users: number
}

/** The channels of each target. */
const shared = new Map<string, readonly Shared[]>()

// The only line that the package writes by itself, to standard error, is that a server refused pings as too frequent. A
// session handles that, so the line of its channels is left out. It is set with this module, so that a logger of the
// application, which can be set but not read, replaces it; with a verbosity in the environment nothing is set.
if ((process.env['GRPC_NODE_VERBOSITY'] ?? process.env['GRPC_VERBOSITY']) === undefined) {
  const write =
    (severity: string) =>
    (message: string, ...rest: readonly unknown[]): void => {
      // As the package does it.
      // eslint-disable-next-line no-console
      if (!isOfRefusedPings(message)) console.error(`${severity} ${message}`, ...rest)
    }
  setLogger({ error: write('E'), info: write('I'), debug: write('D') })
}

const isOfRefusedPings = (line: string): boolean =>
  line.includes('because of excess pings') &&
  [...shared.values()].flat().some(({ client }) => line.includes(client.getChannel().getTarget()))

/** The streams that servers should allow for a connection (RFC 9113 section 6.5.2); more would wait silently. */
const maxUsers = 100

/** Addresses whose server refused pings. */
const addressesWithoutPings = new Set<string>()
const maxAddressesWithoutPings = 1_000

/** Call it when the server at this address ended a connection because of pings: no more are sent there. */
export const stopPinging = (address: string): void => {
  if (addressesWithoutPings.size >= maxAddressesWithoutPings) addressesWithoutPings.clear()
  addressesWithoutPings.add(address)
}

/** `host:port` for messages. */
export const targetName = (address: string): string => (/:\d+$|^unix:/.test(address) ? address : `${address}:443`)

const ownOptions = (maxMessageBytes: number, heartbeatMs: number): ChannelOptions => ({
  'grpc.max_receive_message_length': maxMessageBytes,
  // A link has no retry; without a retry buffer a message counts as taken only when the connection took it.
  'grpc.enable_retries': 0,
  'grpc.per_rpc_retry_buffer_size': 0,
  // A failed connection is discarded with its channel, and a shared one reconnects soon, since sessions do the backoff.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  ...(heartbeatMs > 0 && { 'grpc.keepalive_time_ms': heartbeatMs, 'grpc.keepalive_timeout_ms': heartbeatMs }),
})

const hostOf = (address: string): string => address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')

/** The IP address of a target, if any: the certificate is checked against it, but it must not be a TLS server name. */
const ipOf = (address: string): string | undefined => {
  const host = hostOf(address)
  return isIP(host) === 0 ? undefined : host
}

/** The TLS server name (RFC 6066 section 3) of a target that has only an address; it is never looked up. */
const serverNameOfAddress = 'ip.invalid'

const tlsCredentials = ({ address, ca }: Endpoint): ChannelCredentials => {
  const roots = ca ?? null
  const ip = ipOf(address)
  if (ip === undefined) return credentials.createSsl(roots)
  const checkIp = (_name: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(ip, certificate)
  return credentials.createSsl(roots, null, null, { checkServerIdentity: checkIp })
}

const openClient = (target: Endpoint, proxy: Proxy | undefined, options: ChannelOptions): Client => {
  const { address, isPlain } = target
  const way = channelThrough(address, proxy)
  try {
    if (isPlain) return new Client(way.address, credentials.createInsecure(), { ...way.options, ...options })
    const serverName = ipOf(address) === undefined ? {} : { 'grpc.ssl_target_name_override': serverNameOfAddress }
    return new Client(way.address, tlsCredentials(target), { ...way.options, ...serverName, ...options })
  } catch (error) {
    const message = 'url, ca or channelOptions cannot be used as they are.'
    throw new SpeechError('invalid-options', message, { cause: error })
  }
}

const share = (key: string, client: Client): Shared => {
  const left$ = new Subject<void>()
  watchConnection(client, () => left$.next())
  return { key, client, left$, users: 0 }
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

const optionsOf = (target: Endpoint, maxMessageBytes: number): ChannelOptions => {
  const heartbeatMs = addressesWithoutPings.has(target.address) ? 0 : (target.heartbeatMs ?? 0)
  return { ...ownOptions(maxMessageBytes, heartbeatMs), ...target.channelOptions }
}

const keyOf = (target: Endpoint, proxy: Proxy | undefined, options: ChannelOptions): string => {
  const certificates = target.ca?.toString() ?? null
  const way = proxy === undefined ? null : [proxy.url.href, proxy.credentials]
  return JSON.stringify([target.address, target.isPlain, certificates, options, way])
}

const isShareable = ({ users }: Shared): boolean => users < maxUsers

/** Whether there is a channel for this target that another call may share. */
export const isChannelOpen = (target: Endpoint, proxy: Proxy | undefined, maxMessageBytes: number): boolean =>
  (shared.get(keyOf(target, proxy, optionsOf(target, maxMessageBytes))) ?? []).some(isShareable)

/**
 * The client of a channel for this target, opened when the first asks and closed when the last has released it (once
 * each). A hundred share one. Throws `invalid-options`.
 */
export const shareChannel = (target: Endpoint, proxy: Proxy | undefined, maxMessageBytes: number): OpenChannel => {
  const options = optionsOf(target, maxMessageBytes)
  const key = keyOf(target, proxy, options)
  const channels = shared.get(key) ?? []
  const known = channels.find(isShareable)
  const entry = known ?? share(key, openClient(target, proxy, options))
  if (known === undefined) shared.set(key, [...channels, entry])
  entry.users += 1
  return {
    client: entry.client,
    left$: entry.left$,
    release: () => release(entry),
  }
}

const release = (entry: Shared): void => {
  entry.users -= 1
  if (entry.users > 0) return
  const { key, client } = entry
  const others = (shared.get(key) ?? []).filter((other) => other !== entry)
  if (others.length > 0) shared.set(key, others)
  else shared.delete(key)
  client.close()
}

/** The proxy for a target that is looked up as a name; others, such as `unix:`, have none. Throws `invalid-options`. */
export const proxyOfTarget = ({
  address,
  isPlain,
  proxy: option,
}: Pick<Endpoint, 'address' | 'isPlain' | 'proxy'>): Proxy | undefined => {
  const authority = authorityOf(address)
  const target = `${isPlain ? 'http' : 'https'}://${authority}`
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
 * The options of a channel through a proxy, or directly. The gRPC package's own reading of the environment is off, so
 * that the same rules apply to every connection; the proxy is set by the options that the package sets internally.
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
