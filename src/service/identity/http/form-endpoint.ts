import { IncomingMessage, type ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import { readBody, refuseBody } from './read-body.js'
import { sendError, sendTooManyAttempts } from './responses.js'

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
  readonly bytes: Buffer
  readonly fields: URLSearchParams
  readonly address: string
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
    const waitMs = retryAfterMs(address)
    if (waitMs > 0) {
      onRefusal?.('too_many_attempts', address)
      sendTooManyAttempts(response, waitMs)
      return
    }
    const body = await readBody(request, scheduler)
    if (body.type !== 'complete') {
      refuseBody(response, body)
      return
    }
    const fields = new URLSearchParams(body.bytes.toString())
    if (hasDuplicates(fields, repeatable)) sendError(response, 400, 'invalid_request', 'a field must not be repeated')
    else await handle(request, response, { bytes: body.bytes, fields, address })
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

/**
 * A copy of the request with the body that was read, and with only the headers that a token request needs: no `Origin`,
 * no `Accept`, nothing that could activate another feature of the provider.
 */
export const replayForm = (request: IncomingMessage, path: string, body: Buffer): IncomingMessage => {
  const replay = new IncomingMessage(request.socket)
  const { host, authorization, 'content-type': contentType } = request.headers
  replay.method = 'POST'
  replay.url = path
  replay.httpVersionMajor = request.httpVersionMajor
  replay.headers = { accept: 'application/json', 'content-length': String(body.length) }
  if (host !== undefined) replay.headers.host = host
  if (authorization !== undefined) replay.headers.authorization = authorization
  if (contentType !== undefined) replay.headers['content-type'] = contentType
  // Otherwise Node treats the end of the copy as an abort and destroys the socket.
  replay.complete = true
  replay.push(body)
  replay.push(null)
  return replay
}
