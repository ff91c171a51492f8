import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { take } from 'rxjs'
import { WebSocketServer, type WebSocket } from 'ws'
import { errorTable } from 'rxspeech/internal/errors/error-table'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { traceparentHeader } from 'rxspeech/internal/tracing/traceparent'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import { ProtocolErrorSocket, webSocketLink } from 'rxspeech/internal/transport/websocket/server'
import { authFailureOf, noopMonitor, type ServiceMonitor } from '../monitor/service-monitor.js'
import { SessionWatch, watchConversation } from '../monitor/session-watch.js'
import { serveRecognizer } from '../recognizer/session.js'
import { clientError } from '../sessions/client-error.js'
import type { Admission, RecognizerContext, SessionContext } from '../sessions/session-context.js'
import { RequestLimit } from '../sessions/request-limit.js'
import { FrameCounter } from './frame-counter.js'
import type { HttpListener } from './http-listener.js'
import { serveLink, type SessionSet } from './serve-link.js'
import { bearerToken, refuseUpgrade, subprotocol } from './upgrade-request.js'

export interface RecognizerListenerOptions {
  readonly context: SessionContext
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  /** Whether `?access_token=` is accepted; proxies write it to their logs. */
  readonly allowQueryToken: boolean
  readonly monitor?: ServiceMonitor | undefined
  readonly connections: Pick<HttpListener, 'addressOf' | 'refuseUpgrade' | 'succeeded'>
}

type UpgradeArguments = [request: IncomingMessage, socket: Duplex, head: Buffer]

/**
 * The handler of upgrades to the recognition socket, at `/recognizer` and at `/` (PROTOCOL 4.1). An upgrade is refused
 * with an HTTP status and `<code>: <sentence>` as its body. Browsers hide both, so a token from a subprotocol is
 * refused with a close code (4401, 4403, 4429) instead.
 */
export const recognizerUpgrades = (options: RecognizerListenerOptions): ((...upgrade: UpgradeArguments) => void) => {
  const { context, allowQueryToken, monitor = noopMonitor, connections } = options
  const openSocket = socketOpener(options.maxMessageBytes)
  let isDraining = false
  context.drain$.pipe(take(1)).subscribe(() => {
    isDraining = true
  })
  const refuse = (socket: Duplex, { error, status }: Refusal): void => {
    monitor.refused('websocket', error.code)
    refuseUpgrade(socket, error, status)
  }

  const accept = async (...upgrade: UpgradeArguments): Promise<void> => {
    const [request, socket] = upgrade
    const peer = connections.addressOf(request) ?? 'unknown'
    const checked = await checkRequest(request, isDraining, connections)
    if ('error' in checked) {
      refuse(socket, checked)
      return
    }
    const presented = bearerToken(request, checked.url, allowQueryToken)
    if (presented === undefined) {
      monitor.authFailed('missing-token', 'websocket', peer)
      refuse(socket, { error: new SpeechError('unauthenticated', noToken) })
      return
    }
    context.admit(presented.token, undefined, request.headers.origin).then(
      (admission) => {
        connections.succeeded(request)
        const modelOfAddress = checked.url.searchParams.get('ModelName') ?? undefined
        const admitted = { admission, peer, modelOfAddress, traceparent: headerOf(request, traceparentHeader) }
        const frames = new RequestLimit(context.limits, context.scheduler, admission.requests)
        const isOpen = openSocket(upgrade, frames, (link) => serveSocket(link, options, admitted))
        if (!isOpen) admission.release()
      },
      (cause: unknown) => {
        const error = clientError(cause, context)
        if (error.code === 'unauthenticated') monitor.authFailed(authFailureOf(error), 'websocket', peer)
        if (presented.by !== 'subprotocol') refuse(socket, { error })
        else {
          monitor.refused('websocket', error.code)
          const frames = new RequestLimit(context.limits, context.scheduler)
          openSocket(upgrade, frames, (link) => link.close(error))
        }
      },
    )
  }
  return (...upgrade) => void accept(...upgrade)
}

const noToken =
  'The request has no token; present one from the token endpoint. A proxy in between must pass on Authorization or Sec-WebSocket-Protocol.'

interface Refusal {
  readonly error: SpeechError
  /** The HTTP status, if it is not that of the code. */
  readonly status?: number
}

/** Checks everything that costs less than the verification of a token. */
const checkRequest = async (
  request: IncomingMessage,
  isDraining: boolean,
  connections: RecognizerListenerOptions['connections'],
): Promise<Refusal | { readonly url: URL }> => {
  const url = urlOf(request)
  if (url === undefined || (url.pathname !== '/recognizer' && url.pathname !== '/')) {
    return {
      error: new SpeechError('refused', 'There is no WebSocket endpoint at this path; use /recognizer.'),
      status: 404,
    }
  }
  if (isDraining) return { error: new SpeechError('going-away', 'The service is closing; connect again later.') }
  const tooManyConnections = await connections.refuseUpgrade(request)
  if (tooManyConnections !== undefined) return { error: tooManyConnections }
  return new Set(url.searchParams.getAll('ModelName')).size > 1
    ? { error: new SpeechError('model-mismatch', 'The address has several ModelName; name one model.'), status: 400 }
    : { url }
}

/** A header that occurs once. */
const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Only the path and the query are used; with this host, any of them can be parsed. */
const urlOf = ({ url = '' }: IncomingMessage): URL | undefined =>
  url.startsWith('/') ? new URL(`http://service${url}`) : undefined

type RecognizerLink = Link<SocketMessage, SocketMessage>

/**
 * Returns a function that completes upgrades. It returns false if the handshake is refused or its connection is closed.
 */
const socketOpener = (maxMessageBytes: number) => {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    WebSocket: ProtocolErrorSocket,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  })
  return (upgrade: UpgradeArguments, frames: RequestLimit, onOpen: (link: RecognizerLink) => void): boolean => {
    let isOpen = false
    server.handleUpgrade(...upgrade, (socket) => {
      isOpen = true
      const link = webSocketLink(socket, { maxMessageBytes, heartbeatMs: 30_000 })
      limitFrames(socket, upgrade[1], frames)
      onOpen(link)
    })
    return isOpen
  }
}

/** Bytes that are read from a client after the close of its socket, at most; the rest is left unread until the socket is terminated. */
const maxBytesAfterClose = 262_144

/**
 * Reports too many frames that are no message to the link of the socket, which ends, and stops to read from a client
 * that sends on after the close.
 */
const limitFrames = (socket: WebSocket, connection: Duplex, limit: RequestLimit): void => {
  const frames = new FrameCounter()
  let bytesAfterClose = 0
  connection.on('data', (part: Buffer) => {
    if (socket.readyState === socket.OPEN) {
      const count = frames.push(part)
      const tooMany = count > 0 ? limit.takeFrames(count) : undefined
      if (tooMany !== undefined)
        socket.emit('protocol-error', tooMany, () => socket.close(errorTable[tooMany.code].closeCode, ''))
      return
    }
    bytesAfterClose += part.length
    if (bytesAfterClose > maxBytesAfterClose) socket.pause()
  })
}

interface AdmittedSocket {
  readonly admission: Admission
  readonly peer: string
  readonly modelOfAddress: string | undefined
  readonly traceparent: string | undefined
}

const serveSocket = (
  link: RecognizerLink,
  { context, sessions, monitor = noopMonitor }: RecognizerListenerOptions,
  { admission: { rights, ended$, release, clientId, requests }, peer, modelOfAddress, traceparent }: AdmittedSocket,
): void => {
  const watch = new SessionWatch({
    monitor,
    interface: 'websocket',
    peer,
    now: () => context.scheduler.now(),
    openTelemetry: context.openTelemetry,
    traceparent,
  })
  watch.granted(clientId)
  const recognizerContext: RecognizerContext = { rights, ...context, ended$, requests, watch, modelOfAddress }
  const converse = (incoming$: typeof link.incoming$) =>
    serveRecognizer(incoming$, link, recognizerContext).pipe(watchConversation(watch))
  sessions.add(serveLink(link, converse, context)).add(release)
}
