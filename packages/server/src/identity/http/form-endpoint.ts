import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import { readBody, refuseBody } from './read-body.js'
import { sendError, sendTooManyAttempts, type Headers, type Refusal } from './responses.js'

export interface FormEndpointOptions {
  /** How long an address has to wait for any request, in milliseconds; 0 if it need not wait. */
  readonly retryAfterMs: (address: string) => number
  readonly scheduler: SchedulerLike
  /** The address under which failures of the client are counted. */
  readonly addressOf: (request: IncomingMessage) => string
  readonly onFault: (error: unknown) => void
  /** Called with the `error` of each refusal and the address of the client. */
  readonly onRefusal?: ((error: string, address: string) => void) | undefined
}

export interface Form {
  readonly fields: URLSearchParams
  /** The address of the client. */
  readonly address: string
  /** Answers with an error and reports it. */
  readonly refuse: (refusal: Refusal, headers?: Headers) => void
  /** Answers that the client has to wait, and reports it. */
  readonly refuseForNow: (waitMs: number) => void
}

export type HttpEndpoint = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * An endpoint that accepts a form by POST (PROTOCOL 2). Checks the method, the content type, the length of the body,
 * duplicate fields and addresses that guess secrets, and passes the rest to `handle`. Never rejects.
 *
 * @param repeatable the fields that may be repeated, as `resource` of RFC 8693
 */
export const formEndpoint = (
  { retryAfterMs, scheduler, addressOf, onFault, onRefusal }: FormEndpointOptions,
  handle: (request: IncomingMessage, response: ServerResponse, form: Form) => Promise<void>,
  repeatable: readonly string[] = [],
): HttpEndpoint => {
  const checkAndHandle: HttpEndpoint = async (request, response) => {
    if (request.method !== 'POST') {
      sendError(response, 405, 'invalid_request', 'only POST is allowed here', { Allow: 'POST' })
      return
    }
    if (!isForm(request)) {
      const description = 'the content type must be application/x-www-form-urlencoded'
      sendError(response, 415, 'invalid_request', description, { Accept: 'application/x-www-form-urlencoded' })
      return
    }
    const address = addressOf(request)
    const refuseForNow = (forMs: number): void => {
      onRefusal?.('too_many_attempts', address)
      sendTooManyAttempts(response, forMs)
    }
    const waitMs = retryAfterMs(address)
    if (waitMs > 0) {
      refuseForNow(waitMs)
      return
    }
    const body = await readBody(request, scheduler)
    if (body.type !== 'complete') {
      refuseBody(response, body)
      return
    }
    const fields = new URLSearchParams(body.bytes.toString())
    if (hasDuplicates(fields, repeatable)) {
      sendError(response, 400, 'invalid_request', 'a field must not be repeated')
      return
    }
    const refuse: Form['refuse'] = ({ status, error, description }, headers) => {
      onRefusal?.(error, address)
      sendError(response, status, error, description, headers)
    }
    await handle(request, response, { fields, address, refuse, refuseForNow })
  }

  return async (request, response) => {
    try {
      await checkAndHandle(request, response)
    } catch (error) {
      onFault(error)
      sendError(response, 500, 'server_error', 'the service failed; try again')
    }
  }
}

/** RFC 6749 section 3.2: no parameter more than once. */
const hasDuplicates = (fields: URLSearchParams, repeatable: readonly string[]): boolean => {
  const names = [...fields.keys()].filter((name) => !repeatable.includes(name))
  return new Set(names).size < names.length
}

/** Whether the request declares a form without content encoding. */
const isForm = ({ headers }: IncomingMessage): boolean => {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';')
  const encoding = headers['content-encoding'] ?? 'identity'
  return mediaType.trim().toLowerCase() === 'application/x-www-form-urlencoded' && encoding.toLowerCase() === 'identity'
}
