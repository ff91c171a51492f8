import type { DataflowMessage, Link, SocketMessage } from '../../transport/link.js'

/** Takes the service's ends of connections, whatever they run over. */
export interface ProvingDoors {
  /** Whether a token that comes before the socket is open lets in; who is not let in counts as a connection. */
  readonly admit: (token: string | undefined) => boolean
  readonly socket: (link: Link<SocketMessage, SocketMessage>) => void
  readonly stream: (link: Link<DataflowMessage, DataflowMessage>) => void
}

/** The token of an upgrade, from its header or its subprotocols (decisions.md: token on the socket). */
export const presentedToken = (
  authorization: string | undefined,
  protocols: readonly string[] = [],
): string | undefined =>
  /^Bearer (.+)$/.exec(authorization ?? '')?.[1] ??
  protocols.find((one) => one.startsWith('bearer.'))?.slice('bearer.'.length)
