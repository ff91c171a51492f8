import { catchError, defer, map, throwError, type Observable } from 'rxjs'
import { SecretMask } from '../errors/secret-mask.js'
import { toSpeechError } from '../errors/speech-error.js'
import type { Connection } from './connection.js'

/** The connection that is made with a token: neither its failure nor what it brings holds the token, should a peer repeat it. */
export const maskToken = <In, Out>(
  token: string,
  connect: () => Observable<Omit<Connection<In, Out>, 'mask'>>,
): Observable<Connection<In, Out>> =>
  defer(() => {
    const mask = new SecretMask([token])
    return defer(connect).pipe(
      map((connection) => ({ ...connection, mask })),
      catchError((error: unknown) => {
        const failure = toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.')
        return throwError(() => mask.cleanError(failure))
      }),
    )
  })
