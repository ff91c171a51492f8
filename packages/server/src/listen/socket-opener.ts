import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { errorTable } from 'rxspeech/internal/errors/error-table'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import { NodeSocketLink } from 'rxspeech/internal/transport/websocket/node-link'
import { resolveWebSocketLimits } from 'rxspeech/internal/transport/websocket/socket'
import type { RequestLimit } from '../sessions/request-limit.js'
import { FrameCounter } from './frame-counter.js'

/** The arguments of the event `upgrade`. */
export type UpgradeArguments = [request: IncomingMessage, socket: Duplex, head: Buffer]

/**
 * Returns a function that completes upgrades. It returns false if the handshake is refused or its connection is closed.
 *
 * @param select returns the subprotocol that is used, of those that the client offers; false for none
 * @param headersOf returns more lines for the head of the answer
 */
export const socketOpener = (
  maxMessageBytes: number,
  select: (offered: ReadonlySet<string>) => string | false,
  headersOf?: (request: IncomingMessage) => readonly string[],
) => {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    WebSocket: ProtocolErrorSocket,
    handleProtocols: select,
  })
  const limits = resolveWebSocketLimits({ maxMessageBytes, heartbeatMs: 30_000 })
  if (headersOf !== undefined) server.on('headers', (lines, request) => lines.push(...headersOf(request)))
  return (
    upgrade: UpgradeArguments,
    frames: RequestLimit,
    onOpen: (link: Link<SocketMessage, SocketMessage>) => void,
  ): boolean => {
    let isOpen = false
    server.handleUpgrade(...upgrade, (socket) => {
      isOpen = true
      const link = new NodeSocketLink(socket, limits, upgrade[1])
      limitFrames(socket, upgrade[1], frames)
      onOpen(link)
    })
    return isOpen
  }
}

/** Bytes that are read from a client after the close of its socket, at most; the rest is left unread until the socket is terminated. */
const maxBytesAfterClose = 262_144

/**
 * Reports too many frames that are no message to the link of the socket, which ends, and stops to read from a client
 * that sends on after the close.
 */
const limitFrames = (socket: WebSocket, connection: Duplex, limit: RequestLimit): void => {
  const frames = new FrameCounter()
  let bytesAfterClose = 0
  connection.on('data', (part: Buffer) => {
    if (socket.readyState === socket.OPEN) {
      const count = frames.push(part)
      const tooMany = count > 0 ? limit.takeFrames(count) : undefined
      if (tooMany !== undefined)
        socket.emit('protocol-error', tooMany, () => socket.close(errorTable[tooMany.code].closeCode, ''))
      return
    }
    bytesAfterClose += part.length
    if (bytesAfterClose > maxBytesAfterClose) socket.pause()
  })
}

/**
 * The socket of the package `ws`, which closes itself on a protocol error of its peer. This class emits
 * `protocol-error` first, with the close code and a function that closes, so that the service can still send an answer.
 */
class ProtocolErrorSocket extends WebSocket {
  override close(code?: number, data?: string | Buffer): void {
    const close = (): void => {
      super.close(code, data)
    }
    // Only the package itself closes with a code and without a text.
    const isProtocolError = code !== undefined && data === undefined && this.readyState === this.OPEN
    if (!isProtocolError || !this.emit('protocol-error', code, close)) close()
  }
}
