import type { ServerResponse } from 'node:http'
import { exactRetryAfter } from 'rxspeech/internal/protocol/retry-after'

export type Headers = Readonly<Record<string, string>>

/** RFC 6749 section 5.1 requires both on all responses of the token endpoint. */
export const noStoreHeaders: Headers = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

export const sendJson = (response: ServerResponse, status: number, body: object, headers: Headers): void => {
  // The client has disconnected, or a response was sent already.
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

/** An error in the format of RFC 6749 section 5.2. */
export interface Refusal {
  readonly status: number
  readonly error: string
  readonly description: string
}

/** Sends an error in the format of RFC 6749 section 5.2. */
export const sendError = (
  response: ServerResponse,
  status: number,
  error: string,
  description: string,
  headers: Headers = {},
): void => sendJson(response, status, { error, error_description: description }, { ...noStoreHeaders, ...headers })

/** Sends 429 with the exact wait in `Retry-After`. */
export const sendTooManyAttempts = (response: ServerResponse, waitMs: number): void =>
  sendError(response, 429, 'too_many_attempts', 'wait for the time in Retry-After', {
    'Retry-After': exactRetryAfter(waitMs),
  })
