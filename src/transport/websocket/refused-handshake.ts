import type { IncomingMessage } from 'node:http'
import type { HandshakeAnswer } from './handshake-status.js'
import type { NodeSocket } from './socket.js'

/** Enough for `<code>: <sentence>`; an HTML page of a proxy is not read to its end. */
const maxTextBytes = 2048

export interface UpgradeSocket extends NodeSocket {
  on(event: 'pong', listener: () => void): unknown
  on(event: 'unreadable', listener: (closeCode: number, close: () => void) => void): unknown
  on(event: 'unexpected-response', listener: (request: unknown, response: IncomingMessage) => void): unknown
  removeAllListeners(event: 'unexpected-response'): unknown
}

/** Calls back with what the service answered when that is not the switch of protocols, once, with the beginning of its body. */
export const refusedHandshake = (socket: UpgradeSocket, refused: (answer: HandshakeAnswer) => void): void => {
  socket.on('unexpected-response', (_request, response) => {
    let body = ''
    const tell = (): void => {
      response.removeAllListeners()
      response.on('error', () => {})
      const text = body.slice(0, maxTextBytes)
      refused({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text })
    }
    response.setEncoding('utf8')
    response.on('data', (part: string) => {
      body += part
      if (body.length >= maxTextBytes) tell()
    })
    response.once('end', tell)
    response.once('close', tell)
    response.once('error', tell)
  })
}
