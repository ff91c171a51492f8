import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { errorTable } from '../../errors/error-table.js'
import { spreadRetryAfter } from '../../protocol/retry-after.js'
import { refusalText, type SpeechError } from '../../errors/speech-error.js'

const statuses: Readonly<Record<number, number>> = { 4401: 401, 4403: 403, 4429: 429, 1001: 503 }

/** The HTTP status that says the same as the code's close code. */
const httpStatus = ({ code }: SpeechError): number => statuses[errorTable[code].closeCode] ?? 500

/** Answers an upgrade with the status and `<code>: <sentence>` of the error. */
export const refuseUpgrade = (socket: Duplex, error: SpeechError, status: number = httpStatus(error)): void => {
  const body = refusalText(error)
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(status === 429 || status === 503 ? [`Retry-After: ${spreadRetryAfter(error.retryAfterMs)}`] : []),
  ]
  // The other side need not close, and nothing else bounds how long it may not.
  socket.once('finish', () => socket.destroy())
  socket.end(`${headers.join('\r\n')}\r\n\r\n${body}`)
}
