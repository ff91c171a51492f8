import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import type { ClientAuthentication } from './client-authentication.js'
import { isForm, maxFormBytes, readForm, type FormBody } from './form-body.js'
import { answerError, retryAfterSeconds, type Headers } from './http-answer.js'

export interface FormEndpointOptions {
  readonly authentication: ClientAuthentication
  readonly scheduler: SchedulerLike
  /** What stands for the peer when failures are counted. */
  readonly addressOf: (request: IncomingMessage) => string
  readonly onFault: (error: unknown) => void
  /** Told the `error` of a refusal, and the address of who is refused. */
  readonly onRefusal?: (error: string, address: string) => void
}

export interface Form {
  readonly bytes: Buffer
  readonly fields: URLSearchParams
  readonly address: string
}

export type HttpEndpoint = (request: IncomingMessage, response: ServerResponse) => Promise<void>

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

/** RFC 6749 section 3.2: no parameter more than once. */
const hasTwice = (fields: URLSearchParams): boolean => {
  const names = [...fields.keys()]
  return new Set(names).size < names.length
}

/**
 * An endpoint that takes a form by POST: sees to the method, the content type, the length of the body, fields that come
 * twice and peers that guess, and hands on what is left. Never rejects.
 */
export const formEndpoint = (
  { authentication, scheduler, addressOf, onFault, onRefusal }: FormEndpointOptions,
  take: (request: IncomingMessage, response: ServerResponse, form: Form) => Promise<void>,
): HttpEndpoint => {
  const answer: HttpEndpoint = async (request, response) => {
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
      onRefusal?.('too_many_attempts', address)
      answerTooMany(response, waitMs)
      return
    }
    const body = await readForm(request, scheduler)
    if (body.type !== 'whole') {
      refuseBody(response, body)
      return
    }
    const fields = new URLSearchParams(body.bytes.toString())
    if (hasTwice(fields)) answerError(response, 400, 'invalid_request', 'a field must not come twice')
    else await take(request, response, { bytes: body.bytes, fields, address })
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

export const answerTooMany = (response: ServerResponse, waitMs: number): void =>
  answerError(response, 429, 'too_many_attempts', 'wait for the time that Retry-After names', {
    'Retry-After': retryAfterSeconds(waitMs),
  })
