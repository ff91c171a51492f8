import type { GrpcDialOptions } from '../transport/grpc/client.js'
import type { WebSocketDialOptions } from '../transport/websocket/dial.js'
import { redacted, type DialLine } from './cassette.js'

/** What a connection is for and where it leads, without anything that could let one in. */
export type Address = Pick<DialLine, 'channel' | 'address' | 'headers' | 'protocols'>

/** The one thing in an address of the service that is never a secret (decisions.md: WebSocket path). */
const openParameter = 'ModelName'

/** Whatever else the query says, and all that a header says, may be a token: only its name is kept. */
export const socketAddress = ({ channel, url, headers, protocols }: WebSocketDialOptions): Address => ({
  ...(channel === undefined ? {} : { channel }),
  ...(URL.canParse(String(url)) ? { address: openPart(new URL(url)) } : {}),
  ...(headers === undefined ? {} : { headers: Object.keys(headers) }),
  ...(protocols === undefined ? {} : { protocols: protocols.map(openProtocol) }),
})

export const dataflowAddress = ({ address }: GrpcDialOptions): Address => ({ address })

const openPart = (url: URL): string => {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  const parameters = [...shown.searchParams].map(([name, value]) =>
    name === openParameter ? `${name}=${encodeURIComponent(value)}` : `${encodeURIComponent(name)}=${redacted}`,
  )
  shown.search = ''
  return parameters.length === 0 ? shown.href : `${shown.href}?${parameters.join('&')}`
}

const openProtocol = (protocol: string): string => {
  if (protocol === 'rxspeech') return protocol
  return protocol.startsWith('bearer.') ? `bearer.${redacted}` : redacted
}
