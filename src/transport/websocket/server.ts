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
