import { SpeechError } from '../../errors/speech-error.js'
import { dialBy, type OpenSocket, type SocketClass } from './dial.js'
import { SocketLink } from './link.js'

/** By a standard WebSocket, which accepts only an address and subprotocols. */
export const openBrowserSocket: OpenSocket = (url, options, limits) => {
  const refused = (['headers', 'ca', 'proxy'] as const).find((name) => (options[name] ?? false) !== false)
  if (refused !== undefined) {
    throw new SpeechError(
      'invalid-options',
      `${refused} cannot be given in the browser${refused === 'headers' ? '; present the token by subprotocol' : ''}.`,
    )
  }
  // Its type has no bytes in shared memory, of which audio never is.
  const SocketClass = options.WebSocket ?? (WebSocket as unknown as SocketClass)
  const socket = new SocketClass(url.href, [...(options.protocols ?? [])])
  return { socket, link: () => new SocketLink(socket, limits), abandon: () => socket.close() }
}

/**
 * `dialWebSocket` of a browser. Errors: `invalid-options`, `connect-timeout`; otherwise `connection-failed`, because a
 * browser reports no cause.
 */
export const dialBrowserSocket = dialBy(openBrowserSocket)
