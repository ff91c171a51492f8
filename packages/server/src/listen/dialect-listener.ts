import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { NEVER, Observable, take } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import { memoryLinks } from 'rxspeech/internal/transport/memory/link'
import { authFailureOf, noopMonitor, type SessionInterface } from '../monitor/service-monitor.js'
import { clientError } from '../sessions/client-error.js'
import { RequestLimit } from '../sessions/request-limit.js'
import { isModelGranted, sharedTenant, tenantOf } from '../sessions/rights.js'
import type { Admission } from '../sessions/session-context.js'
import type { Conversation, ConversationOptions, Dialect, DialectClient, DialectRoute } from './dialect.js'
import type { Closing, HttpListener } from './http-listener.js'
import { serveRecognition, type RecognitionServer } from './recognition-server.js'
import { socketOpener, type UpgradeArguments } from './socket-opener.js'
import { answerUpgrade, dialectSubprotocol, dialectToken, type HttpRefusal, urlOf } from './upgrade-request.js'

export interface DialectListenerOptions extends RecognitionServer {
  readonly dialects: readonly Dialect[]
  /** The model of the service for a name of a client; that of `*` for all others. */
  readonly modelNames: Readonly<Record<string, string>>
  readonly maxMessageBytes: number
  readonly connections: Pick<HttpListener, 'addressOf' | 'refuseSession' | 'succeeded'>
}

/** The two kinds of handlers of an HTTP listener. */
interface Handlers {
  readonly request: RequestListener
  readonly upgrade: (...upgrade: UpgradeArguments) => void
}

/** Handles the requests and upgrades of the dialects; passes all others on. */
export const dialectHandlers = (options: DialectListenerOptions, others: Handlers): Handlers => {
  const { dialects, context, monitor = noopMonitor } = options
  if (dialects.length === 0) return others
  const heads = new WeakMap<IncomingMessage, readonly string[]>()
  const openSocket = socketOpener(options.maxMessageBytes, dialectSubprotocol, (request) => heads.get(request) ?? [])
  const admit = clientAdmission(options)

  const refusalOf = (dialect: Dialect, cause: unknown, by: SessionInterface, id: string): HttpRefusal => {
    const known = dialect.refuse(cause, id)
    if (known !== undefined) return known
    // A fault of the service.
    const error = clientError(cause, context)
    monitor.refused(by, error.code)
    return dialect.refuse(error, id) ?? { status: 500, headers: {}, body: '' }
  }

  const answer = async (dialect: Dialect, route: DialectRoute, request: IncomingMessage, response: ServerResponse) => {
    const sessionId = randomUUID()
    closeWithConnection(request, response)
    response.setHeader(dialect.requestIdHeader, sessionId)
    if (request.headers.origin !== undefined) {
      response.setHeader('Access-Control-Allow-Origin', '*')
      response.setHeader('Access-Control-Expose-Headers', `${dialect.requestIdHeader}, retry-after, x-should-retry`)
    }
    try {
      const client = await admit({ request, by: 'http', until: response, sessionId })
      await route.answer(client, response)
    } catch (error) {
      if (response.headersSent || response.destroyed) {
        // What the dialect knows is no fault of the service, such as the end of a conversation whose client has left.
        if (dialect.refuse(error, sessionId) === undefined) context.onFault?.(error)
        response.destroy()
        return
      }
      const { status, headers, body } = refusalOf(dialect, error, 'http', sessionId)
      const isUnread = !request.complete
      response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body), ...(isUnread && closing) })
      if (isUnread) endAfterRequest(request, response, body)
      else response.end(body)
    }
  }

  const upgrade = async (dialect: Dialect, at: number, ...handshake: UpgradeArguments): Promise<void> => {
    const [request, socket] = handshake
    const sessionId = randomUUID()
    heads.set(request, [`${dialect.requestIdHeader}: ${sessionId}`])
    try {
      const served = dialect.sockets[at]
      if (served === undefined) return
      const client = await admit({ request, by: 'websocket', until: socket, sessionId })
      const serve = await served.accept(client)
      openSocket(handshake, client.requests, (link) => {
        const serving = serve(link)
        socket.once('close', () => serving.unsubscribe())
      })
    } catch (error) {
      if (socket.destroyed) return
      const refusal = refusalOf(dialect, error, 'websocket', sessionId)
      answerUpgrade(socket, { ...refusal, headers: { ...refusal.headers, [dialect.requestIdHeader]: sessionId } })
    }
  }

  return {
    request: (request, response) => {
      const { pathname } = urlOf(request) ?? {}
      for (const dialect of pathname === undefined ? [] : dialects) {
        const ofPath = dialect.routes.filter(({ path }) => path.test(pathname ?? ''))
        const route = ofPath.find(({ method }) => method === request.method)
        if (route !== undefined) {
          void answer(dialect, route, request, response)
          return
        }
        if (ofPath.length > 0 && isPreflight(request)) {
          response.writeHead(204, preflightHeaders).end()
          return
        }
      }
      others.request(request, response)
    },
    upgrade: (...handshake) => {
      const { pathname } = urlOf(handshake[0]) ?? {}
      for (const dialect of pathname === undefined ? [] : dialects) {
        const at = dialect.sockets.findIndex(({ path }) => path.test(pathname ?? ''))
        if (at === -1) continue
        void upgrade(dialect, at, ...handshake)
        return
      }
      others.upgrade(...handshake)
    },
  }
}

/** The responses that wait for those before them, by their connection. */
const waitingResponses = new WeakMap<Socket, Set<ServerResponse>>()

/** Node does not close a response that waits for another one of its connection (pipelining) when the connection closes. */
const closeWithConnection = ({ socket }: IncomingMessage, response: ServerResponse): void => {
  if (response.socket !== null) return
  const others = waitingResponses.get(socket)
  const waiting = others ?? new Set()
  waiting.add(response)
  response.once('close', () => waiting.delete(response))
  if (others !== undefined) return
  waitingResponses.set(socket, waiting)
  socket.once('close', () => {
    for (const one of waiting) one.destroy().emit('close')
  })
}

/**
 * A page may send requests and read the answers (CORS): it presents a token for pages, which can be bound to its
 * origin, and nothing that the browser adds by itself counts.
 */
const preflightHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'authorization, *',
  'Access-Control-Max-Age': '7200',
}

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

const closing = { Connection: 'close' }

/** How much of a refused body is read, so that its sender reads the refusal. */
const maxDiscardedBytes = 32 * 1_048_576

/**
 * Sends the answer at once, and ends it when the client has sent the rest: an end closes the connection, and bytes that
 * come afterwards reset it, with which the client loses the answer. The timeout of requests limits the time.
 */
const endAfterRequest = (request: IncomingMessage, response: ServerResponse, body: string): void => {
  let readBytes = 0
  const end = (): void => void response.end()
  response.write(body)
  request.once('end', end).once('close', end)
  request.on('data', (part: Buffer) => {
    readBytes += part.length
    if (readBytes > maxDiscardedBytes) request.destroy()
  })
}

/** A request or an upgrade. */
interface Visit {
  readonly request: IncomingMessage
  readonly by: SessionInterface
  readonly until: Closing
  readonly sessionId: string
}

/** Checks everything that an upgrade to the recognition socket checks, in the same order. */
const clientAdmission = (options: DialectListenerOptions) => {
  const { context, connections, monitor = noopMonitor } = options
  let isDraining = false
  context.drain$.pipe(take(1)).subscribe(() => {
    isDraining = true
  })

  const counted = (cause: unknown, by: SessionInterface, peer: string): SpeechError => {
    const error = clientError(cause, context)
    if (error.code === 'unauthenticated') monitor.authFailed(authFailureOf(error), by, peer)
    monitor.refused(by, error.code)
    return error
  }

  const admitToken = async (request: IncomingMessage): Promise<Admission> => {
    const token = dialectToken(request)
    if (token === undefined) throw new SpeechError('unauthenticated', noToken, { cause: 'missing-token' })
    const { origin } = request.headers
    const admission = await context.admit(token, undefined, origin)
    if (origin === undefined || admission.isForPage === true) return admission
    admission.release()
    throw new SpeechError('unauthenticated', notForPages, { cause: 'wrong-origin' })
  }

  const admitSession = async (request: IncomingMessage, by: SessionInterface, peer: string): Promise<Admission> => {
    try {
      return await admitToken(request)
    } catch (cause) {
      throw counted(cause, by, peer)
    }
  }

  const admitVisit = async (
    request: IncomingMessage,
    by: SessionInterface,
    peer: string,
    until: Closing,
  ): Promise<Admission> => {
    const tooMany = isDraining ? goingAway() : await connections.refuseSession(request, until)
    if (tooMany !== undefined) throw counted(tooMany, by, peer)
    const admission = await admitSession(request, by, peer)
    connections.succeeded(request)
    return admission
  }

  return async ({ request, by, until, sessionId }: Visit): Promise<DialectClient> => {
    const peer = connections.addressOf(request) ?? 'unknown'
    const ended = new AbortController()
    // A request is a session from its head to its answer, which a service that closes waits for.
    const open = by === 'http' && options.sessions.add(openUntilClosed(until, () => ended.abort(goingAway())))
    const admission = await admitVisit(request, by, peer, until).catch((error: unknown) => {
      // Not for the rest of a request that is refused: a stranger could delay the end of the service.
      if (open !== false) open.unsubscribe()
      throw error
    })
    const conversations = new Set<Conversation>()
    const revocation = admission.ended$.subscribe((error) => ended.abort(error))
    const close = (): void => {
      revocation.unsubscribe()
      ended.abort()
      for (const conversation of conversations) conversation.close()
      admission.release()
    }
    if (until.destroyed) close()
    else until.once('close', close)
    let count = 0
    let hasPlace = true
    const converse = async (asked: ConversationOptions = {}): Promise<Conversation> => {
      const { isRecording = false, isUnpaced = isRecording, reportsSpeech = false } = asked
      count += 1
      const id = count === 1 ? sessionId : `${sessionId}-${count}`
      const own = hasPlace ? { ...admission, release: () => (hasPlace = true) } : undefined
      hasPlace = false
      const admitted = { admission: own ?? (await admitSession(request, by, peer)), sessionId: id }
      const [near, far] = memoryLinks<SocketMessage, SocketMessage>({ maxMessageBytes: options.maxMessageBytes })
      conversations.add(near)
      const limits = isUnpaced ? { ...context.limits, maxPacePercent: 0 } : context.limits
      // A recording is read to its end, for which a service that closes waits.
      const drain$ = isRecording ? NEVER : context.drain$
      const server = { ...options, reportsSpeech, optionalLanguage: 'en', context: { ...context, limits, drain$ } }
      const session = serveRecognition(far, server, { ...admitted, interface: by, peer, request })
      session.add(() => conversations.delete(near))
      if (until.destroyed) near.close()
      return near
    }
    return {
      sessionId,
      request,
      signal: ended.signal,
      url: urlOf(request) ?? new URL('http://service/'),
      scheduler: context.scheduler,
      tenant: tenantOf(admission.rights),
      address: peer,
      onFault: (error) => context.onFault?.(error, { sessionId }),
      requests: new RequestLimit(context.limits, context.scheduler, admission.requests),
      ...modelsOf(options, admission),
      converse,
    }
  }
}

const openUntilClosed = (until: Closing, onEnd: () => void): Observable<never> =>
  new Observable((subscriber) => {
    if (until.destroyed) subscriber.complete()
    else until.once('close', () => subscriber.complete())
    return onEnd
  })

const goingAway = (): SpeechError => new SpeechError('going-away', 'The service is closing; connect again later.')

const noToken =
  'The request has no token; present one from the token endpoint as the API key. A proxy in between must pass on Authorization or Sec-WebSocket-Protocol.'

const notForPages = 'A page must not have this token; request a token for pages, and present that.'

const modelsOf = (
  { context, modelNames }: DialectListenerOptions,
  { rights }: Admission,
): Pick<DialectClient, 'models' | 'findModel'> => {
  const granted = context.models.list().filter((model) => isModelGranted(rights, model))
  const own = tenantOf(rights)
  const called = (name: string | undefined) => {
    const named = granted.filter((model) => model.name === name)
    return named.find(({ tenant }) => tenant === own) ?? named.find(({ tenant }) => tenant === sharedTenant) ?? named[0]
  }
  const mapped = new Map(Object.entries(modelNames))
  return {
    models: granted,
    findModel: (name) => called(name) ?? called(mapped.get(name) ?? mapped.get('*')),
  }
}
