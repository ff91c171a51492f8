import { IncomingMessage, type ServerResponse } from 'node:http'
import type { SchedulerLike } from 'rxjs'
import { answerError, retryAfterSeconds, type Headers } from './responses.js'

export interface FormEndpointOptions {
  /** How long an address has to wait, whatever it asks, in milliseconds; 0 when it can go on. */
  readonly retryAfterMs: (address: string) => number
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
  { retryAfterMs, scheduler, addressOf, onFault, onRefusal }: FormEndpointOptions,
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
    const waitMs = retryAfterMs(address)
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

/** Longer bodies are refused; a token request has some 200 bytes. */
export const maxFormBytes = 16 * 1024
/** So much of a body that is refused is still read, so that the peer comes to read the refusal. */
const maxDrainedBytes = 1024 * 1024
const maxReadMs = 10_000

export type FormBody =
  | { readonly type: 'whole'; readonly bytes: Buffer }
  | { readonly type: 'too-big'; readonly drained: boolean }
  | { readonly type: 'too-slow' }
  | { readonly type: 'aborted' }

/** True when the request declares an unpacked form. */
export const isForm = ({ headers }: IncomingMessage): boolean => {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';')
  const encoding = headers['content-encoding'] ?? 'identity'
  return mediaType.trim().toLowerCase() === 'application/x-www-form-urlencoded' && encoding.toLowerCase() === 'identity'
}

/** Reads a body of at most 16 KiB within ten seconds; never rejects, and keeps nothing of what is too long. */
export const readForm = (request: IncomingMessage, scheduler: SchedulerLike): Promise<FormBody> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let received = 0
    const settle = (body: FormBody): void => {
      deadline.unsubscribe()
      request.off('data', take).off('end', end).off('close', abort).off('error', abort)
      resolve(body)
    }
    const take = (chunk: Buffer): void => {
      received += chunk.length
      if (received <= maxFormBytes) chunks.push(chunk)
      else chunks.length = 0
      if (received > maxDrainedBytes) settle({ type: 'too-big', drained: false })
    }
    const end = (): void =>
      settle(
        received > maxFormBytes ? { type: 'too-big', drained: true } : { type: 'whole', bytes: Buffer.concat(chunks) },
      )
    const abort = (): void => settle({ type: 'aborted' })
    const deadline = scheduler.schedule(() => settle({ type: 'too-slow' }), maxReadMs)
    request.on('data', take).on('end', end).on('close', abort).on('error', abort)
  })

/**
 * The request once more, with the body that was read and with only the headers that a token request is made of: no
 * `Origin`, no `Accept`, nothing that could switch on another feature of the provider.
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
  // Else Node takes the end of the replay for an abort and destroys the socket.
  replay.complete = true
  replay.push(body)
  replay.push(null)
  return replay
}
