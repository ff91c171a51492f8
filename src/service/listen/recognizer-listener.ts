import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { finalize, take } from 'rxjs'
import { WebSocketServer } from 'ws'
import { errorTable } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Link, SocketMessage } from '../../transport/link.js'
import { webSocketLink } from '../../transport/websocket/websocket-link.js'
import { clientError } from '../conversation/client-error.js'
import { recognizerConversation } from '../conversation/recognizer-conversation.js'
import type { RecognizerTerms } from '../conversation/session-terms.js'
import type { Admission, SessionTerms } from '../conversation/session-terms.js'
import { bearerToken, subprotocol } from './bearer-token.js'
import { refuseUpgrade } from './refuse-upgrade.js'
import { serveLink } from './serve-link.js'
import type { SessionSet } from './session-set.js'

export interface RecognizerListenerOptions {
  readonly terms: SessionTerms
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  /** Whether `?access_token=` is taken; it leaks into the logs of proxies. */
  readonly allowQueryToken: boolean
}

type RecognizerLink = Link<SocketMessage, SocketMessage>
type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * Takes the upgrades for the recognition socket, at `/recognizer` and at `/`. A refusal before the socket is open is
 * an HTTP status with `<code>: <sentence>` as its body; a browser cannot see that, so a token that came by subprotocol
 * is refused with a close code (4401, 4403, 4429) instead.
 */
export const recognizerUpgrades = (options: RecognizerListenerOptions): Upgrade => {
  const { terms, sessions, maxMessageBytes, allowQueryToken } = options
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  })

  let draining = false
  terms.drain$.pipe(take(1)).subscribe(() => {
    draining = true
  })

  const serve = (upgrade: Parameters<Upgrade>, { rights, release }: Admission, modelOfAddress: string | null): void => {
    const own: RecognizerTerms = { ...terms, rights, ...(modelOfAddress === null ? {} : { modelOfAddress }) }
    const opened = takeUpgrade(server, upgrade, maxMessageBytes, (link) => {
      const converse = (incoming$: typeof link.incoming) => recognizerConversation(incoming$, link, own)
      sessions.add(serveLink(link, converse, terms.onFault).pipe(finalize(release)))
    })
    if (!opened) release()
  }

  return (...upgrade) => {
    const [request, socket] = upgrade
    const url = urlOf(request)
    if (url === undefined || (url.pathname !== '/recognizer' && url.pathname !== '/')) {
      refuseUpgrade(socket, new SpeechError('refused', 'There is no socket at this path; use /recognizer.'), 404)
      return
    }
    if (draining) {
      refuseUpgrade(socket, new SpeechError('going-away', 'The service is closing; connect again later.'))
      return
    }
    const presented = bearerToken(request, url, allowQueryToken)
    if (presented === undefined) {
      refuseUpgrade(socket, new SpeechError('unauthenticated', errorTable.unauthenticated.help))
      return
    }
    terms.admit(presented.token).then(
      (admission) => {
        serve(upgrade, admission, url.searchParams.get('ModelName'))
      },
      (cause: unknown) => {
        const error = clientError(cause, terms.onFault)
        if (presented.by !== 'subprotocol') refuseUpgrade(socket, error)
        else
          takeUpgrade(server, upgrade, maxMessageBytes, (link) => {
            link.close(error)
          })
      },
    )
  }
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

/** Of the target only path and query are read; whatever follows a host can be parsed. */
const urlOf = ({ url = '' }: IncomingMessage): URL | undefined =>
  url.startsWith('/') ? new URL(`http://service${url}`) : undefined
