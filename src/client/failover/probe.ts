import { defer, ignoreElements, map, mergeMap, take, throwError, throwIfEmpty, timeout, type Observable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { Opening } from '../connection.js'
import type { SessionPlan } from '../session.js'
import type { SessionToken } from '../token.js'

/**
 * Opens a session without audio and closes it. Completes when the service has answered the start; errors with the
 * reason why it did not.
 */
export const probe = <In, Out>(
  { connect, settings }: Pick<SessionPlan<In, Out>, 'connect' | 'settings'>,
  tokens: SessionToken,
): Observable<never> => {
  const { deadlines, scheduler } = settings
  const late = (): Observable<never> =>
    throwError(() => new SpeechError('start-timeout', 'The service did not answer a probe in time.'))
  return tokens.take().pipe(
    mergeMap(({ accessToken }) => started(connect(accessToken, undefined, {}), accessToken)),
    timeout({ first: deadlines.authorizing + deadlines.connecting + deadlines.starting, with: late, scheduler }),
    take(1),
    ignoreElements(),
  )
}

const started = <In, Out>({ dial, protocol }: Opening<In, Out>, token: string): Observable<true> =>
  defer(dial).pipe(
    mergeMap((link) => {
      link.send(protocol.start(token))
      return link.incoming$.pipe(
        map((message) => protocol.read(message).signal),
        mergeMap((signal) => {
          if (signal?.type !== 'start-answer') return []
          if (signal.error !== undefined) throw signal.error
          link.send(protocol.stop())
          return [true as const]
        }),
        // The dial stays open when the link ends.
        throwIfEmpty(() => new SpeechError('connection-lost', 'The service closed the connection of a probe.')),
      )
    }),
  )
