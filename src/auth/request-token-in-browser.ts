import type { Observable } from 'rxjs'
import { SpeechError } from '../errors/speech-error.js'
import type { Token } from '../protocol/token.js'
import type { RequestTokenOptions } from './token-fetch.js'

/** `requestToken` of a browser: a page cannot keep a client secret, so it always throws `invalid-options`. */
export const requestToken = (_options: RequestTokenOptions): Observable<Token> => {
  throw new SpeechError(
    'invalid-options',
    'requestToken needs a client secret, which a page cannot keep; request the token on your server.',
  )
}
