import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { take } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { authFailureOf, noopMonitor } from '../monitor/service-monitor.js'
import { clientError } from '../sessions/client-error.js'
import { RequestLimit } from '../sessions/request-limit.js'
import type { HttpListener } from './http-listener.js'
import { serveRecognition, type AdmittedClient, type RecognitionServer } from './recognition-server.js'
import { socketOpener, type UpgradeArguments } from './socket-opener.js'
import { bearerToken, refuseUpgrade, subprotocol, urlOf } from './upgrade-request.js'

export interface RecognizerListenerOptions extends RecognitionServer {
  readonly maxMessageBytes: number
  /** Whether `?access_token=` is accepted; proxies write it to their logs. */
  readonly allowQueryToken: boolean
  readonly connections: Pick<HttpListener, 'addressOf' | 'refuseSession' | 'succeeded'>
}

/**
 * The handler of upgrades to the recognition socket, at `/recognizer` and at `/` (PROTOCOL 4.1). An upgrade is refused
 * with an HTTP status and `<code>: <sentence>` as its body. Browsers hide both, so a token from a subprotocol is
 * refused with a close code (4401, 4403, 4429) instead.
 */
export const recognizerUpgrades = (options: RecognizerListenerOptions): ((...upgrade: UpgradeArguments) => void) => {
  const { context, allowQueryToken, monitor = noopMonitor, connections } = options
  const openSocket = socketOpener(options.maxMessageBytes, (offered) => offered.has(subprotocol) && subprotocol)
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
        const admitted: AdmittedClient = { admission, peer, modelOfAddress, request, interface: 'websocket' }
        const frames = new RequestLimit(context.limits, context.scheduler, admission.requests)
        const isOpen = openSocket(upgrade, frames, (link) => serveRecognition(link, options, admitted))
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
  const tooManyConnections = await connections.refuseSession(request)
  if (tooManyConnections !== undefined) return { error: tooManyConnections }
  return new Set(url.searchParams.getAll('ModelName')).size > 1
    ? { error: new SpeechError('model-mismatch', 'The address has several ModelName; name one model.'), status: 400 }
    : { url }
}
