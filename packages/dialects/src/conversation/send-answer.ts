import type { ServerResponse } from 'node:http'

/** The body of an answer, and its type. */
export interface Written {
  readonly contentType: string
  readonly body: string
}

/** How long a connection stays open whose client does not read its answer. */
export const unreadAnswerMs = 60_000

/** Sends an answer. Resolves when it is sent, or when its connection has closed. */
export const sendAnswer = (
  response: ServerResponse,
  { contentType, body }: Written,
  timeoutMs = unreadAnswerMs,
): Promise<void> =>
  new Promise((resolve) => {
    // There was none while the recording was recognized.
    response.setTimeout(timeoutMs)
    response.once('close', resolve)
    response.writeHead(200, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) })
    response.end(body, resolve)
  })
