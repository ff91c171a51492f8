import type { IncomingMessage } from 'node:http'
import type { Observable, Subscription } from 'rxjs'
import { traceparentHeader } from 'rxspeech/internal/tracing/traceparent'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import { noopMonitor, type ServiceMonitor, type SessionInterface } from '../monitor/service-monitor.js'
import { SessionWatch, watchConversation } from '../monitor/session-watch.js'
import { serveRecognizer } from '../recognizer/session.js'
import {
  contextOf,
  watchedContext,
  type Admission,
  type RecognizerContext,
  type SessionContext,
} from '../sessions/session-context.js'
import { serveLink, type SessionSet } from './serve-link.js'

/** Answers the messages of a client (PROTOCOL 4). `client` is the one that the conversation belongs to. */
export type Recognizer = (
  incoming$: Observable<SocketMessage>,
  link: Link<SocketMessage, SocketMessage>,
  context: RecognizerContext,
  client: AdmittedClient,
) => Observable<SocketMessage>

/** What every conversation of a recognizer needs. */
export interface RecognitionServer extends Pick<RecognizerContext, 'reportsSpeech' | 'optionalLanguage'> {
  readonly context: SessionContext
  readonly sessions: SessionSet
  readonly monitor?: ServiceMonitor | undefined
  /** @default serveRecognizer: the voice activity and the engines of the service */
  readonly recognizer?: Recognizer | undefined
}

/** A client whose token was accepted. */
export interface AdmittedClient {
  readonly interface: SessionInterface
  /** @default a new one */
  readonly sessionId?: string | undefined
  /** Its request, or the one that opened its connection. */
  readonly request: IncomingMessage
  /** The address of the client, without its port. */
  readonly peer: string
  /** Released when the conversation ends. */
  readonly admission: Admission
  readonly modelOfAddress?: string | undefined
}

/** Serves a conversation of the recognizer (PROTOCOL 4) over a link until either end closes it. */
export const serveRecognition = (
  link: Link<SocketMessage, SocketMessage>,
  server: RecognitionServer,
  client: AdmittedClient,
): Subscription => {
  const { context, sessions, monitor = noopMonitor, reportsSpeech, optionalLanguage } = server
  const { recognizer = serveRecognizer } = server
  const { admission, sessionId, peer, request, modelOfAddress, interface: by } = client
  const { rights, ended$, release, clientId, requests } = admission
  const watch = new SessionWatch({
    sessionId,
    monitor,
    interface: by,
    peer,
    now: () => context.scheduler.now(),
    openTelemetry: context.openTelemetry,
    traceparent: headerOf(request, traceparentHeader),
  })
  watch.granted(clientId)
  const recognizerContext: RecognizerContext = {
    rights,
    ...watchedContext(contextOf(context, admission), watch),
    ended$,
    requests,
    modelOfAddress,
    reportsSpeech,
    optionalLanguage,
  }
  const converse = (incoming$: typeof link.incoming$) =>
    recognizer(incoming$, link, recognizerContext, client).pipe(watchConversation(watch))
  const session = sessions.add(serveLink(link, converse, recognizerContext))
  session.add(release)
  return session
}

/** A header that occurs once. */
const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
