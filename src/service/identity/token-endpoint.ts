import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import { isForm, maxFormBytes, readForm, replayForm, type FormBody } from './form-body.js'
import { answerError, retryAfterSeconds, type Headers } from './http-answer.js'
import type { SigningKeys } from './signing-keys.js'
import { openTokenProvider, tokenRoute, type TokenProvider, type TokenProviderOptions } from './token-provider.js'

export interface TokenEndpointOptions extends Omit<TokenProviderOptions, 'keys'> {
  readonly keys: SigningKeys
  readonly scheduler: SchedulerLike
  /** What stands for the peer when failures are counted. */
  readonly addressOf: (request: IncomingMessage) => string
}

export type TokenEndpoint = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const closing: Headers = { Connection: 'close' }

const refuseBody = (response: ServerResponse, body: Exclude<FormBody, { type: 'whole' }>): void => {
  switch (body.type) {
    case 'too-big': {
      const description = `the body must have at most ${maxFormBytes} bytes`
      answerError(response, 413, 'invalid_request', description, body.drained ? {} : closing)
      return
    }
    case 'too-slow':
      answerError(response, 408, 'invalid_request', 'the body did not come in time', closing)
      return
    case 'aborted':
      return
  }
}

/**
 * `POST /connect/token` (service.md 4.3): sees to the method, the content type, the length of the body and to peers that
 * guess, then hands over to the provider. Never rejects.
 */
export const createTokenEndpoint = async (options: TokenEndpointOptions): Promise<TokenEndpoint> => {
  const { keys, authentication, scheduler, addressOf, onFault, onRefusal } = options
  const openProvider = (): Promise<TokenProvider> => openTokenProvider({ ...options, keys: keys.current() })
  let provider = await openProvider()

  // A full disk is no reason to turn clients away: the key of before goes on signing.
  const rotate = (): Promise<boolean> =>
    keys.rotateIfDue().catch((error: unknown) => {
      onFault(error)
      return false
    })

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      answerError(response, 405, 'invalid_request', 'only POST is allowed here', { Allow: 'POST' })
      return
    }
    if (!isForm(request)) {
      const description = 'the content type must be application/x-www-form-urlencoded'
      answerError(response, 415, 'invalid_request', description, { Accept: 'application/x-www-form-urlencoded' })
      return
    }
    const address = addressOf(request)
    const waitMs = authentication.retryAfterMs(address)
    if (waitMs > 0) {
      const description = 'wait for the time that Retry-After names'
      onRefusal?.('too_many_attempts', address)
      answerError(response, 429, 'too_many_attempts', description, { 'Retry-After': retryAfterSeconds(waitMs) })
      return
    }
    const body = await readForm(request, scheduler)
    if (body.type !== 'whole') {
      refuseBody(response, body)
      return
    }
    // The provider holds the keys it was made with, so new keys mean a new one.
    if (await rotate()) provider = await openProvider()
    await provider(replayForm(request, tokenRoute, body.bytes), response, address)
  }

  return async (request, response) => {
    try {
      await answer(request, response)
    } catch (error) {
      onFault(error)
      answerError(response, 500, 'server_error', 'the service failed; try again')
    }
  }
}
