import {
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  type StatusObject,
} from '@grpc/grpc-js'
import { asyncScheduler, concat, defer, NEVER, Observable, type Subscriber, type Unsubscribable } from 'rxjs'
import type { SpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
import { probeProxy } from '../../proxy/connect.js'
import type { Proxy } from '../../proxy/proxy.js'
import { connectTimeout, brokenAfterTls, connectFailure } from '../../errors/connection-errors.js'
import { defaultConnectTimeoutMs, defaultDialCloseTimeoutMs, defaultMaxMessageBytes, type Resolved } from '../limits.js'
import { recordOf } from '../../protocol/collections.js'
import { anything, checkOptions, durationMs, flag, jsonObject, optionsOf, text } from '../../protocol/validation.js'
import type { DataflowMessage, Dial, Link } from '../link.js'
import {
  type ChannelTarget,
  type Endpoint,
  endpointOf,
  isChannelOpen,
  type OpenChannel,
  shareChannel,
  stopPinging,
  targetName,
  proxyOfTarget,
} from './channel.js'
import { type CallReason, GrpcLink, type GrpcLinkOptions, grpcLinkCodecs, resolveGrpcLimits } from './link.js'
import { requestedWaitMs, type ReceivedStatus, isCallForQuiet, statusError, orderlyEndOf } from './errors.js'
import { type DataflowMethod, loadDataflow, type LoadDataflowOptions } from './proto.js'

/** A channel of the gRPC package. */
type Channel = ReturnType<Client['getChannel']>

/** Where and how a gRPC call is opened, and the limits of its link. */
export interface GrpcDialOptions extends ChannelTarget, LoadDataflowOptions, GrpcLinkOptions {
  /** How long the connection may take, in milliseconds: name, TCP, TLS and HTTP/2 together. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined
  /**
   * A channel that the caller owns and closes; it replaces all options that describe a channel.
   * @default a channel of the library
   */
  readonly channel?: Channel | undefined
  /** Metadata of the call, by lower-case names. @default {} */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

const grpcDialOptions = optionsOf<GrpcDialOptions>()(
  { url: anything },
  {
    ...grpcLinkCodecs,
    ca: anything,
    insecure: flag,
    proxy: anything,
    channelOptions: jsonObject,
    heartbeatMs: durationMs(0),
    protoPath: text,
    connectTimeoutMs: durationMs(1),
    channel: anything,
    metadata: recordOf(text),
  },
)

type Call = ClientDuplexStream<DataflowMessage, DataflowMessage>

const openCall = (client: Client, { path, ...codec }: DataflowMethod, metadata: Metadata): Call =>
  client.makeBidiStreamRequest(path, codec.requestSerialize, codec.responseDeserialize, metadata, {})

const metadataOf = ({ metadata = {} }: Pick<GrpcDialOptions, 'metadata'>): Metadata => {
  const sent = new Metadata()
  for (const [name, value] of Object.entries(metadata)) sent.set(name, value)
  return sent
}

/** The options of a dial, with the target as the gRPC package takes it. */
type DialSettings = Omit<GrpcDialOptions, keyof ChannelTarget> & Endpoint

const channelOf = (options: DialSettings, proxy: Proxy | undefined, maxMessageBytes: number): OpenChannel => {
  const { address, channel } = options
  if (channel === undefined) return shareChannel(options, proxy, maxMessageBytes)
  const client = new Client(address, credentials.createInsecure(), { channelOverride: channel })
  return { client, release: () => {}, left$: NEVER }
}

/** Calls back once when the channel is connected, unless `stopped` by then. */
const whenReady = (channel: Channel, stopped: () => boolean, ready: () => void): void => {
  const state = channel.getConnectivityState(true)
  if (state === connectivityState.READY) ready()
  else {
    channel.watchConnectivityState(state, Infinity, () => {
      if (!stopped()) whenReady(channel, stopped, ready)
    })
  }
}

const connect = (
  subscriber: Subscriber<Link<DataflowMessage, DataflowMessage>>,
  options: DialSettings,
  proxy: Proxy | undefined,
): (() => void) => {
  // Only the parts needed later are destructured, so that an open call does not keep its options.
  const {
    address,
    isPlain,
    closeTimeoutMs = defaultDialCloseTimeoutMs,
    connectTimeoutMs = defaultConnectTimeoutMs,
  } = options
  const limits = resolveGrpcLimits({ ...options, closeTimeoutMs })
  const method = loadDataflow({ protoPath: options.protoPath }).Stream
  const { client, release, left$ } = channelOf(options, proxy, limits.maxMessageBytes)
  const peer = targetName(address)
  const call = openCall(client, method, metadataOf(options))
  let state: 'connecting' | 'over' | GrpcClientLink = 'connecting'
  const late = (): void => subscriber.error(connectTimeout(peer, connectTimeoutMs))
  let timer: Unsubscribable | undefined = schedule(limits.scheduler, connectTimeoutMs, late, { ref: true })
  const stopTimer = (): void => {
    timer?.unsubscribe()
    timer = undefined
  }
  // The status has all details; without a listener the process ends.
  call.on('error', () => {})
  let headers: Metadata | undefined
  call.once('metadata', (received: Metadata) => (headers = received))
  const receivedStatus = ({ code, details, metadata }: StatusObject): ReceivedStatus => ({
    code,
    details,
    retryAfterMs: requestedWaitMs([metadata, headers], limits.scheduler.now()),
  })
  call.once('status', (status: StatusObject) => {
    stopTimer()
    if (isCallForQuiet(status)) stopPinging(address)
    release()
    if (state === 'connecting') subscriber.error(statusBeforeOpen(peer, receivedStatus(status), !isPlain))
    state = 'over'
  })
  const stopped = (): boolean => state !== 'connecting'
  whenReady(client.getChannel(), stopped, () => {
    stopTimer()
    const link = new GrpcClientLink(call, limits, left$, receivedStatus)
    state = link
    subscriber.next(link)
  })
  return () => {
    stopTimer()
    // Not a half-close, which asks the service to finish the work.
    if (state instanceof GrpcClientLink) state.close({ code: 'connection-lost', message: 'The client left.' })
    else call.cancel()
  }
}

/** The error for a call that ends before its channel is ready: without a connection, or by an early refusal. */
const statusBeforeOpen = (peer: string, status: ReceivedStatus, isTls: boolean): SpeechError => {
  const error = statusError(status)
  if (error !== undefined && error.code !== 'connection-lost') return error
  const { details = '' } = status
  if (error !== undefined && wasConnected.test(details)) return error
  const isAfterTls = isTls && afterTls.test(details)
  const cause = new Error(isAfterTls ? details.replace('Failed to connect', 'Connection dropped') : details)
  return (isAfterTls ? brokenAfterTls(peer, cause) : undefined) ?? connectFailure(peer, cause)
}

/** Details of a connection that was lost, or ended by GOAWAY, before this end saw that it was ready. */
const wasConnected = /^(Connection dropped|Stream refused)/

/** The gRPC package adds the time only to failures after the TLS handshake. */
const afterTls = /\(\d{4}-\d\d-\d\dT[\d:.]+Z\)/

/**
 * Opens the dataflow call (PROTOCOL 3): emits one open link when the channel is connected and stays open until it is
 * unsubscribed, which cancels the call once the sent messages are delivered to the transport. The end of the link does
 * not complete it. Links with equal address, certificates and options share one channel for a hundred of them, which
 * closes after the last.
 *
 * TLS unless `url` begins with `grpc:` or `insecure` is set. Half-close is `finish`; `close` with a reason reaches the
 * service as a cancelled call, because a gRPC client cannot send a reason. While paused it continues to read up to the
 * larger of `maxMessageBytes` and `highWaterMarkBytes`; the messages that a slower reader has not read are lost when
 * the service ends with a status other than OK.
 *
 * Errors: `invalid-options`; `connection-failed` (refused, unknown name, TLS; the message names host and port);
 * `connect-timeout`; or the code in the service's status.
 *
 * @example
 * const link$ = dialGrpc({ url: 'speech.example.com:443', connectTimeoutMs: 5_000 })
 * link$.pipe(switchMap((link) => link.incoming$)).subscribe(({ content }) => console.log(content))
 */
export const dialGrpc = (options: GrpcDialOptions): Dial<DataflowMessage, DataflowMessage> =>
  defer(() => {
    checkOptions(grpcDialOptions, options)
    const settings: DialSettings = endpointOf(options)
    const proxy = options.channel === undefined ? proxyOfTarget(settings) : undefined
    return proxy === undefined ? connected(settings, undefined) : connectedThrough(proxy, settings)
  })

const connected = (options: DialSettings, proxy: Proxy | undefined): Dial<DataflowMessage, DataflowMessage> =>
  new Observable((subscriber) => connect(subscriber, options, proxy))

/**
 * The first call of a channel probes the proxy first, to report why it refuses and to time out if it does not answer.
 */
const connectedThrough = (proxy: Proxy, options: DialSettings): Dial<DataflowMessage, DataflowMessage> => {
  const { address, scheduler = asyncScheduler, maxMessageBytes = defaultMaxMessageBytes } = options
  if (isChannelOpen(options, proxy, maxMessageBytes)) return connected(options, proxy)
  const withinMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs
  const startMs = scheduler.now()
  const rest$ = defer(() => {
    const connectTimeoutMs = Math.max(1, withinMs - Math.round(scheduler.now() - startMs))
    return connected({ ...options, connectTimeoutMs }, proxy)
  })
  return concat(probeProxy({ proxy, peer: targetName(address), timeoutMs: withinMs, scheduler }), rest$)
}

/**
 * The client's end of a call. A client cannot send a reason for its end: it half-closes for a normal end, and cancels
 * otherwise.
 */
export class GrpcClientLink extends GrpcLink {
  readonly leaving$: Observable<void>
  readonly #call: Call

  constructor(
    call: Call,
    limits: Resolved<GrpcLinkOptions>,
    leaving$: Observable<void>,
    receivedStatus: (status: StatusObject) => ReceivedStatus,
  ) {
    super(call, limits)
    this.#call = call
    this.leaving$ = leaving$
    call.once('status', (status: StatusObject) => {
      const over = (): void =>
        this.callOver(statusError(receivedStatus(status), limits.maxMessageBytes) ?? orderlyEndOf(status.metadata))
      // Messages that the call has read ahead come first; then `end`, which never comes while reading is paused.
      if (call.readableLength === 0) over()
      else call.once('end', over)
    })
  }

  /**
   * Reading pauses only at the limit of the inbox: when a status other than OK arrives, the gRPC package drops all
   * messages that are unread by then.
   */
  protected override get shouldPauseReading(): boolean {
    return this.inbox.isOverLimit
  }

  finish(): void {
    if (this.state !== 'open') return
    this.state = 'finished'
    this.#call.end()
  }

  protected endCall(reason: CallReason | undefined): void {
    if (reason === undefined) this.#call.end()
    else this.whenTaken(() => this.#call.cancel())
  }

  protected abortCall(): void {
    this.#call.cancel()
  }
}
