import { WebSocket } from 'ws'
import { checkOptions, optionsOf } from '../../protocol/validation.js'
import type { Link, SocketMessage } from '../link.js'
import { SocketLink } from './link.js'
import { NodeSocketLink } from './node-link.js'
import { isNodeSocket } from './node-socket.js'
import { resolveWebSocketLimits, webSocketLinkCodecs, type Socket, type WebSocketLinkOptions } from './socket.js'

const webSocketLinkOptions = optionsOf<WebSocketLinkOptions>()({}, webSocketLinkCodecs)

/**
 * The link over an open WebSocket, at either end. Create it in the turn in which the socket opens, otherwise messages
 * are lost. In Node `pause` stops reading from the connection; in a browser messages are kept meanwhile, up to the
 * larger of `maxMessageBytes` and `highWaterMarkBytes`, then the link ends with `overloaded`. `finish` does nothing
 * (RFC 6455 has no half-close). Bytes given to `send` are not copied: do not change them. `maxMessageBytes` is enforced
 * by the socket itself where it has `maxPayload`. Throws `invalid-options`.
 */
export const webSocketLink = (
  socket: Socket,
  options: WebSocketLinkOptions = {},
): Link<SocketMessage, SocketMessage> => {
  const limits = resolveWebSocketLimits(checkOptions(webSocketLinkOptions, options))
  return isNodeSocket(socket) ? new NodeSocketLink(socket, limits) : new SocketLink(socket, limits)
}

/**
 * The socket of the package `ws`, which closes itself on a protocol error of its peer. This class emits
 * `protocol-error` first, with the close code and a function that closes, so that the service can still send an answer.
 */
export class ProtocolErrorSocket extends WebSocket {
  override close(code?: number, data?: string | Buffer): void {
    const close = (): void => {
      super.close(code, data)
    }
    // Only the package itself closes with a code and without a text.
    const isProtocolError = code !== undefined && data === undefined && this.readyState === this.OPEN
    if (!isProtocolError || !this.emit('protocol-error', code, close)) close()
  }
}
