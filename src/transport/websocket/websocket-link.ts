import type { Link, SocketMessage } from '../link.js'
import { NodeSocketLink } from './node-socket-link.js'
import { isNodeSocket, type Socket } from './socket.js'
import { SocketLink } from './socket-link.js'
import { resolveWebSocketLimits, type WebSocketLinkOptions } from './websocket-limits.js'

export { resolveWebSocketLimits, type WebSocketLinkOptions } from './websocket-limits.js'

/**
 * The link over a WebSocket that is open, at either end. It must be made in the same turn as the socket opened, or
 * messages are missed. In Node `pause` stops reading the connection; in the browser what arrives meanwhile is kept, up
 * to the larger of `maxMessageBytes` and `highWaterMarkBytes`, then the link ends with `overloaded`. `finish` does
 * nothing (RFC 6455 has no half-close). Bytes given to `send` are not copied: do not change them.
 * `maxMessageBytes` is kept by the socket itself where it has `maxPayload`. Throws `invalid-options`.
 */
export const webSocketLink = (
  socket: Socket,
  options: WebSocketLinkOptions = {},
): Link<SocketMessage, SocketMessage> => {
  const limits = resolveWebSocketLimits(options)
  return isNodeSocket(socket) ? new NodeSocketLink(socket, limits) : new SocketLink(socket, limits)
}
