import type { IncomingMessage } from 'node:http'
import { either } from 'fp-ts'
import { Observable } from 'rxjs'
import type { Dialect } from 'rxspeech-server/listen/dialect'
import type { Recognizer } from 'rxspeech-server/listen/recognition-server'
import type { HttpRefusal } from 'rxspeech-server/listen/upgrade-request'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { readRecognizerRequest } from 'rxspeech/internal/protocol/recognizer-messages'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import type { FaultRunner } from './fault-runner.js'
import { ObservedLink } from './observed-link.js'
import { ownDialect, type ClientSession } from './session.js'
import { truncateAnswer } from './truncate-answer.js'

export type SessionOf = (request: IncomingMessage) => ClientSession | undefined

/** A dialect whose sockets and answers are observed, and have faults. */
export const observeDialect = (dialect: Dialect, faults: FaultRunner, sessionOf: SessionOf): Dialect => ({
  ...dialect,
  routes: dialect.routes.map((route) => ({
    ...route,
    answer: (client, response) => {
      const session = sessionOf(client.request)
      if (session !== undefined) {
        session.isAccepted = true
        if (faults.takesTruncation()) truncateAnswer(response)
      }
      return route.answer(client, response)
    },
  })),
  sockets: dialect.sockets.map((socket) => ({
    ...socket,
    accept: async (client) => {
      const serve = await socket.accept(client)
      const session = sessionOf(client.request)
      return session === undefined ? serve : (link) => serve(observeLink(link, faults, session))
    },
  })),
  refuse: (error, ...rest) => {
    const refusal = dialect.refuse(error, ...rest)
    return refusal && isSpeechError(error) ? withExactWait(refusal, error.retryAfterMs) : refusal
  },
})

/** Tests need the wait that they asked for, without the spread of a service. */
const withExactWait = (refusal: HttpRefusal, waitMs: number | undefined): HttpRefusal =>
  waitMs === undefined
    ? refusal
    : { ...refusal, headers: { ...refusal.headers, 'Retry-After': String(Math.ceil(waitMs / 1_000)) } }

const observeLink = (
  link: Link<SocketMessage, SocketMessage>,
  faults: FaultRunner,
  session: ClientSession,
): ObservedLink => {
  session.isAccepted = true
  const sent = (message: SocketMessage): SocketMessage => {
    session.passed('sent', message)
    faults.passed('to-client', session.number, { messages: 1 })
    return message
  }
  session.opened((message) => link.send(sent(message)))
  return new ObservedLink(link, {
    outgoing: (message) => faults.outgoing(message).map(sent),
    incoming: (incoming$) =>
      passing(incoming$, (message, deliver) => {
        session.passed('received', message)
        deliver(message)
        faults.passed('to-service', session.number, { messages: 1 })
      }),
  })
}

/** A recognizer whose audio and results are observed, and have faults. */
export const observeRecognizer =
  (recognizer: Recognizer, faults: FaultRunner, sessionOf: SessionOf): Recognizer =>
  (incoming$, link, context, client) => {
    const session = sessionOf(client.request)
    if (session === undefined) return recognizer(incoming$, link, context, client)
    // Its own socket belongs to no dialect that was observed.
    const isOwn = session.dialect === ownDialect
    const socket = isOwn ? observeLink(link, faults, session) : link
    const track = session.converse()
    let finalizedMs: number | undefined
    const heard$ = passing(isOwn ? socket.incoming$ : incoming$, (message, deliver) => {
      if (typeof message !== 'string') {
        track.take(message)
        deliver(message)
        const { sampleRateHz } = track
        if (sampleRateHz > 0)
          faults.passed('to-service', session.number, { audioMs: (message.length * 500) / sampleRateHz })
        return
      }
      const request = readRecognizerRequest(message)
      if (either.isRight(request) && request.right.request === 'recognize')
        track.sampleRateHz = request.right.sampleRateHz
      if (either.isRight(request) && request.right.request === 'finalize-recognition') {
        track.finalize(session.elapsedMs)
        finalizedMs = context.scheduler.now()
        if (!faults.takesFinalize()) return
      }
      deliver(message)
    })
    const results$ = faults.results(recognizer(heard$, socket, context, client), () => finalizedMs)
    if (!isOwn) return results$
    return new Observable((subscriber) =>
      results$.subscribe({
        next: (message) => {
          for (const each of faults.outgoing(message)) {
            session.passed('sent', each)
            subscriber.next(each)
            faults.passed('to-client', session.number, { messages: 1 })
          }
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    )
  }

/** Calls `take` for each message, which delivers it or not, and acts before or behind that. */
const passing = (
  source$: Observable<SocketMessage>,
  take: (message: SocketMessage, deliver: (message: SocketMessage) => void) => void,
): Observable<SocketMessage> =>
  new Observable((subscriber) =>
    source$.subscribe({
      next: (message) => take(message, (each) => subscriber.next(each)),
      error: (error: unknown) => subscriber.error(error),
      complete: () => subscriber.complete(),
    }),
  )
