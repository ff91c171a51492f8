import { IncomingMessage, type ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import { sendError, sendTooManyAttempts, type Headers } from './responses.js'

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
 */
export const formEndpoint = (
  { retryAfterMs, scheduler, addressOf, onFault, onRefusal }: FormEndpointOptions,
  handle: (request: IncomingMessage, response: ServerResponse, form: Form) => Promise<void>,
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
    const body = await readForm(request, scheduler)
    if (body.type !== 'complete') {
      refuseBody(response, body)
      return
    }
    const fields = new URLSearchParams(body.bytes.toString())
    if (hasDuplicates(fields)) sendError(response, 400, 'invalid_request', 'a field must not be repeated')
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
const hasDuplicates = (fields: URLSearchParams): boolean => {
  const names = [...fields.keys()]
  return new Set(names).size < names.length
}

/** Longer bodies are refused; a token request has about 200 bytes. */
const maxFormBytes = 16 * 1024
/** How much of a refused body is still read, so that the client can read the refusal. */
const maxDrainedBytes = 1024 * 1024
const maxReadMs = 10_000

type FormBody =
  | { readonly type: 'complete'; readonly bytes: Buffer }
  | { readonly type: 'too-big'; readonly isDrained: boolean }
  | { readonly type: 'too-slow' }
  | { readonly type: 'aborted' }

const closeHeaders: Headers = { Connection: 'close' }

const refuseBody = (response: ServerResponse, body: Exclude<FormBody, { type: 'complete' }>): void => {
  switch (body.type) {
    case 'too-big': {
      const description = `the body must have at most ${maxFormBytes} bytes`
      sendError(response, 413, 'invalid_request', description, body.isDrained ? {} : closeHeaders)
      return
    }
    case 'too-slow':
      sendError(response, 408, 'invalid_request', 'the body did not arrive in time', closeHeaders)
      return
    case 'aborted':
      return
  }
}

/** Whether the request declares a form without content encoding. */
const isForm = ({ headers }: IncomingMessage): boolean => {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';')
  const encoding = headers['content-encoding'] ?? 'identity'
  return mediaType.trim().toLowerCase() === 'application/x-www-form-urlencoded' && encoding.toLowerCase() === 'identity'
}

/** Reads a body of at most 16 KiB within ten seconds. Never rejects; discards a body that is too long. */
const readForm = (request: IncomingMessage, scheduler: SchedulerLike): Promise<FormBody> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let receivedBytes = 0
    const settle = (body: FormBody): void => {
      deadline.unsubscribe()
      request.off('data', onData).off('end', onEnd).off('close', onAbort).off('error', onAbort)
      resolve(body)
    }
    const onData = (chunk: Buffer): void => {
      receivedBytes += chunk.length
      if (receivedBytes <= maxFormBytes) chunks.push(chunk)
      else chunks.length = 0
      if (receivedBytes > maxDrainedBytes) settle({ type: 'too-big', isDrained: false })
    }
    const onEnd = (): void =>
      settle(
        receivedBytes > maxFormBytes
          ? { type: 'too-big', isDrained: true }
          : { type: 'complete', bytes: Buffer.concat(chunks) },
      )
    const onAbort = (): void => settle({ type: 'aborted' })
    const deadline = scheduler.schedule(() => settle({ type: 'too-slow' }), maxReadMs)
    request.on('data', onData).on('end', onEnd).on('close', onAbort).on('error', onAbort)
  })

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
