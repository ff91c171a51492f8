import type { ServerResponse } from 'node:http'

export type Headers = Readonly<Record<string, string>>

/** RFC 6749 section 5.1 asks for both on whatever the token endpoint says. */
export const notStored: Headers = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

export const answerJson = (response: ServerResponse, status: number, body: object, headers: Headers): void => {
  // The peer has gone, or the answer is on its way already.
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

/** An error in the shape of RFC 6749 section 5.2. */
export const answerError = (
  response: ServerResponse,
  status: number,
  error: string,
  description: string,
  headers: Headers = {},
): void => answerJson(response, status, { error, error_description: description }, { ...notStored, ...headers })

/** `Retry-After` in whole seconds, at least one (RFC 9110 section 10.2.3). */
export const retryAfterSeconds = (waitMs: number): string => String(Math.max(1, Math.ceil(waitMs / 1000)))
