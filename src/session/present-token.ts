import { SpeechError } from '../errors/speech-error.js'

/** Where and how the recognition socket is opened. */
export interface SocketAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: readonly string[]
}

/**
 * How the token goes with the connection, which the description leaves open (decisions.md: token on the socket).
 * `header` is for Node, `subprotocol` for browsers, which cannot set headers; `query` leaks into the logs of proxies.
 */
export type PresentToken = 'header' | 'subprotocol' | 'query' | ((url: string, token: string) => SocketAddress)

const isBrowser = (): boolean => typeof globalThis.process?.versions?.node !== 'string'

export const presentToken = (
  url: string,
  token: string,
  how: PresentToken = isBrowser() ? 'subprotocol' : 'header',
): SocketAddress => {
  if (typeof how === 'function') return how(url, token)
  switch (how) {
    case 'header':
      return { url, headers: { Authorization: `Bearer ${token}` } }
    case 'subprotocol':
      return { url, protocols: ['rxspeech', `bearer.${token}`] }
    case 'query': {
      const withToken = new URL(url)
      withToken.searchParams.set('access_token', token)
      return { url: withToken.href }
    }
    default:
      throw new SpeechError('invalid-options', 'presentToken must be "header", "subprotocol", "query" or a function.')
  }
}
