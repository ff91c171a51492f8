import { either } from 'fp-ts'
import { catchError, EMPTY, from, lastValueFrom, map, mergeMap, throwError, timeout, type Observable } from 'rxjs'
import { nodeFetch } from 'rxspeech/internal/auth/node-fetch'
import type { TokenFetchResponse } from 'rxspeech/internal/auth/token-fetch'
import { boundedText, maskOfSecret, maxAnswerBytes, parseToken } from 'rxspeech/internal/auth/token-response'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { ownValue, parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import type { Token } from 'rxspeech/internal/protocol/token'
import type { TokenRequestOptions } from './access.js'

/** The rights of a token for a page; what is absent is not narrowed (PROTOCOL 2.1). */
export interface PageRights {
  readonly lifetimeS?: number | undefined
  readonly origin?: string | undefined
  readonly tenant?: string | undefined
  readonly projects: readonly string[]
  readonly models: readonly string[]
}

const formOf = ({ lifetimeS, origin, tenant, projects, models }: PageRights): URLSearchParams => {
  const single = { lifetime: lifetimeS?.toString(), origin, tenant }
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(single)) if (value !== undefined) form.append(name, value)
  for (const project of projects) form.append('project', project)
  for (const model of models) form.append('model', model)
  return form
}

/** Exchanges the token of a subscriber for one for a page. Rejects with a `SpeechError`. */
export const pageTokenOf = (
  { accessToken }: Pick<Token, 'accessToken'>,
  authUrl: string,
  rights: PageRights,
  { ca, proxy, timeoutMs = 10_000 }: TokenRequestOptions,
): Promise<Token> => {
  const url = `${authUrl.replace(/\/+$/, '')}/connect/page-token`
  const requestedAtMs = Date.now()
  const answer$ = from(
    nodeFetch({ ca, proxy })(url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${accessToken}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: formOf(rights).toString(),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    }),
  )
  const token$: Observable<Token> = answer$.pipe(
    mergeMap((answer) => bodyOf(answer).pipe(map((body) => ({ status: answer.status, body })))),
    timeout({ first: timeoutMs, with: () => throwError(() => failed('did not answer in time')) }),
    catchError((error: unknown) => throwError(() => (isSpeechError(error) ? error : failed('could not be reached')))),
    map(({ status, body }) => {
      const token = status === 200 ? parseToken(body, requestedAtMs) : undefined
      if (token === undefined) throw refusalOf(status, body, accessToken)
      if (either.isLeft(token)) throw failed('sent no token')
      return token.right
    }),
  )
  return lastValueFrom(token$)
}

const bodyOf = ({ body }: TokenFetchResponse): Observable<string> =>
  boundedText(from(body ?? EMPTY), maxAnswerBytes, () => failed('sent too much'))

const failed = (what: string): SpeechError =>
  new SpeechError('token-endpoint-failed', `The endpoint for page tokens ${what}; check --auth-url.`)

/** The description of RFC 6749 section 5.2, without the token. */
const refusalOf = (status: number, body: string, accessToken: string): SpeechError => {
  const json = parseJsonObject(body)
  const [error, description] = either.isRight(json)
    ? [ownValue(json.right, 'error'), ownValue(json.right, 'error_description')]
    : []
  if (typeof description !== 'string' || !/^[\x20\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(description)) {
    return failed(`answered with status ${status}`)
  }
  const code = error === 'invalid_scope' ? 'invalid-scope' : 'token-endpoint-failed'
  const words = maskOfSecret(accessToken).clean(description)
  return new SpeechError(code, `The service refuses this token for a page: ${words}.`, { retryable: false })
}
