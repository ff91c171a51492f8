import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { finalize, take } from 'rxjs'
import { WebSocketServer } from 'ws'
import { errorTable } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Link, SocketMessage } from '../../transport/link.js'
import { ProtocolErrorSocket, webSocketLink } from '../../transport/websocket/server.js'
import { clientError } from '../sessions/client-error.js'
import { authFailureOf, silentMonitor, type ServiceMonitor } from '../monitor/service-monitor.js'
import { SessionWatch, watchConversation } from '../monitor/session-watch.js'
import { serveRecognizer } from '../recognizer/session.js'
import type { RecognizerContext, Admission, SessionContext } from '../sessions/session-context.js'
import type { HttpListener } from './http-listener.js'
import { bearerToken, subprotocol, refuseUpgrade } from './upgrade-request.js'
import { serveLink, type SessionSet } from './serve-link.js'

export interface RecognizerListenerOptions {
  readonly terms: SessionContext
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  /** Whether `?access_token=` is taken; it leaks into the logs of proxies. */
  readonly allowQueryToken: boolean
  /** Told of every session, and of those who are not let in. */
  readonly monitor?: ServiceMonitor
  /** Whose connection it is, and whether that is one too many. */
  readonly connections: Pick<HttpListener, 'addressOf' | 'refuseUpgrade'>
}

type RecognizerLink = Link<SocketMessage, SocketMessage>
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * Takes the upgrades for the recognition socket, at `/recognizer` and at `/`. A refusal before the socket is open is
 * an HTTP status with `<code>: <sentence>` as its body; a browser cannot see that, so a token that came by subprotocol
 * is refused with a close code (4401, 4403, 4429) instead.
 */
export const recognizerUpgrades = (options: RecognizerListenerOptions): Upgrade => {
  const { terms, maxMessageBytes, allowQueryToken, monitor = silentMonitor, connections } = options
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    WebSocket: ProtocolErrorSocket,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  })

  const refuse = refusal(monitor)
  const peerOf = (request: IncomingMessage): string => connections.addressOf(request) ?? 'unknown'
  let draining = false
  terms.drain$.pipe(take(1)).subscribe(() => {
    draining = true
  })

  const serve = socketServer(options, server)

  return (...upgrade) => {
    const [request, socket] = upgrade
    const url = urlOf(request)
    const unfit = unfitness(url, request, draining, connections)
    if (url === undefined || unfit !== undefined) {
      refuse(socket, unfit?.error ?? noSuchPath(), unfit?.status)
      return
    }
    const presented = bearerToken(request, url, allowQueryToken)
    if (presented === undefined) {
      monitor.authFailed('missing-token', 'websocket', peerOf(request))
      refuse(socket, new SpeechError('unauthenticated', errorTable.unauthenticated.help))
      return
    }
    terms.admit(presented.token).then(
      (admission) => {
        serve(upgrade, admission, url.searchParams.get('ModelName'))
      },
      (cause: unknown) => {
        const error = clientError(cause, terms)
        if (error.code === 'unauthenticated') monitor.authFailed(authFailureOf(error), 'websocket', peerOf(request))
        if (presented.by !== 'subprotocol') refuse(socket, error)
        else {
          monitor.refused('websocket', error.code)
          takeUpgrade(server, upgrade, maxMessageBytes, (link) => {
            link.close(error)
          })
        }
      },
    )
  }
}

type ServeSocket = (upgrade: Parameters<Upgrade>, admission: Admission, modelOfAddress: string | null) => void

/** What becomes of an upgrade that is admitted. */
const socketServer = (options: RecognizerListenerOptions, server: WebSocketServer): ServeSocket => {
  const { terms, sessions, maxMessageBytes, monitor = silentMonitor, connections } = options
  return (upgrade, admission, modelOfAddress) => {
    const { rights, ended$, release, clientId } = admission
    const opened = takeUpgrade(server, upgrade, maxMessageBytes, (link) => {
      const peer = connections.addressOf(upgrade[0]) ?? 'unknown'
      const watch = new SessionWatch({ monitor, interface: 'websocket', peer, now: () => terms.scheduler.now() })
      if (clientId !== undefined) watch.granted(clientId)
      const own: RecognizerContext = {
        ...terms,
        rights,
        ended$,
        watch,
        ...(modelOfAddress === null ? {} : { modelOfAddress }),
      }
      const converse = (incoming$: typeof link.incoming$) =>
        serveRecognizer(incoming$, link, own).pipe(watchConversation(watch))
      sessions.add(serveLink(link, converse, terms).pipe(finalize(release)))
    })
    if (!opened) release()
  }
}

interface Unfit {
  readonly error: SpeechError
  readonly status?: number
}

const noSuchPath = (): SpeechError => new SpeechError('refused', 'There is no socket at this path; use /recognizer.')

/** Why an upgrade is refused whoever asks for it: all that costs less than to verify a token. */
const unfitness = (
  url: URL | undefined,
  request: IncomingMessage,
  draining: boolean,
  connections: RecognizerListenerOptions['connections'],
): Unfit | undefined => {
  if (url === undefined || (url.pathname !== '/recognizer' && url.pathname !== '/')) {
    return { error: noSuchPath(), status: 404 }
  }
  if (draining) return { error: new SpeechError('going-away', 'The service is closing; connect again later.') }
  const tooMany = connections.refuseUpgrade(request)
  if (tooMany !== undefined) return { error: tooMany }
  return new Set(url.searchParams.getAll('ModelName')).size > 1
    ? { error: new SpeechError('model-mismatch', 'The address has several ModelName; name one model.'), status: 400 }
    : undefined
}

/** Calls back with the link; false where the handshake was no good and is refused, or its connection is gone. */
const takeUpgrade = (
  server: WebSocketServer,
  upgrade: Parameters<Upgrade>,
  maxMessageBytes: number,
  then: (link: RecognizerLink) => void,
): boolean => {
  let opened = false
  server.handleUpgrade(...upgrade, (socket) => {
    opened = true
    then(webSocketLink(socket, { maxMessageBytes, heartbeatMs: 30_000 }))
  })
  return opened
}

const refusal =
  (monitor: ServiceMonitor) =>
  (socket: Duplex, error: SpeechError, status?: number): void => {
    monitor.refused('websocket', error.code)
    refuseUpgrade(socket, error, status)
  }

/** Of the target only path and query are read; whatever follows a host can be parsed. */
const urlOf = ({ url = '' }: IncomingMessage): URL | undefined =>
  url.startsWith('/') ? new URL(`http://service${url}`) : undefined
