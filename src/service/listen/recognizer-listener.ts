import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { finalize } from 'rxjs'
import { WebSocketServer } from 'ws'
import { errorTable } from '../../errors/error-table.js'
import { refusalText, SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { webSocketLink } from '../../transport/websocket-link.js'
import { recognizerConversation } from '../conversation/recognizer-conversation.js'
import type { Admission, SessionTerms } from '../conversation/session-terms.js'
import { bearerToken, subprotocol } from './bearer-token.js'
import { serveLink } from './serve-link.js'
import type { SessionSet } from './session-set.js'

export interface RecognizerListenerOptions {
  readonly terms: SessionTerms
  readonly sessions: SessionSet
  readonly maxMessageBytes: number
  /** Whether `?access_token=` is taken; it leaks into the logs of proxies. */
  readonly allowQueryToken: boolean
  readonly isDraining: () => boolean
}

type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/**
 * Takes the upgrades for the recognition socket, at `/recognizer` and at `/`. A refusal before the socket is open is
 * an HTTP status with `<code>: <sentence>` as its body; a browser cannot see that, so a token that came by subprotocol
 * is refused with a close code (4401, 4403, 4429) instead.
 */
export const recognizerUpgrades = (options: RecognizerListenerOptions): Upgrade => {
  const { terms, sessions, maxMessageBytes, allowQueryToken, isDraining } = options
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  })

  const open = (upgrade: Parameters<Upgrade>, admitted: Admission | SpeechError, modelOfAddress?: string): void => {
    server.handleUpgrade(...upgrade, (socket) => {
      const link = webSocketLink(socket, { maxMessageBytes, heartbeatMs: 30_000 })
      if (admitted instanceof SpeechError) {
        link.close(admitted)
        return
      }
      const { rights, release } = admitted
      const recognizerTerms = { ...terms, rights, ...(modelOfAddress === undefined ? {} : { modelOfAddress }) }
      sessions.add(
        serveLink(link, (incoming$) => recognizerConversation(incoming$, link, recognizerTerms)).pipe(
          finalize(release),
        ),
      )
    })
  }

  return (request, socket, head) => {
    const url = new URL(request.url ?? '/', 'http://service')
    if (url.pathname !== '/recognizer' && url.pathname !== '/') {
      refuse(socket, 404, 'refused: There is no socket at this path; use /recognizer.')
      return
    }
    if (isDraining()) {
      refuse(socket, 503, refusalText(new SpeechError('going-away', 'The service is closing; connect again later.')))
      return
    }
    const presented = bearerToken(request, url, allowQueryToken)
    if (presented === undefined) {
      refuse(socket, 401, refusalText(new SpeechError('unauthenticated', errorTable.unauthenticated.help)))
      return
    }
    const modelOfAddress = url.searchParams.get('ModelName') ?? undefined
    terms.admit(presented.token).then(
      (admission) => {
        if (socket.destroyed) admission.release()
        else open([request, socket, head], admission, modelOfAddress)
      },
      (cause: unknown) => {
        const error = toSpeechError(cause, 'internal', 'The connection could not be admitted; try again.')
        if (presented.by === 'subprotocol') open([request, socket, head], error)
        else refuse(socket, httpStatus(error), refusalText(error))
      },
    )
  }
}

const statuses: Readonly<Record<number, number>> = { 4401: 401, 4403: 403, 4429: 429, 1001: 503 }

const httpStatus = ({ code }: SpeechError): number => statuses[errorTable[code].closeCode] ?? 500

const refuse = (socket: Duplex, status: number, body: string): void => {
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After: 1'] : []),
  ]
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}
