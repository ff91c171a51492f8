import { SpeechError } from '../../errors/speech-error.js'

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

const ways: readonly PresentToken[] = ['header', 'subprotocol', 'query']

const isBrowser = (): boolean => typeof globalThis.process?.versions?.node !== 'string'

/** The address with the token; throws `invalid-options` where a function of the user's fails. */
export const presentToken = (
  url: string,
  token: string,
  how: PresentToken = isBrowser() ? 'subprotocol' : 'header',
): SocketAddress => {
  if (typeof how === 'function') return presentedBy(how, url, token)
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
  }
}

/** Throws `invalid-options` for what is none of the ways. */
export const checkPresentToken = (how: unknown): void => {
  if (how === undefined || typeof how === 'function' || ways.some((way) => way === how)) return
  throw new SpeechError('invalid-options', 'presentToken must be "header", "subprotocol", "query" or a function.')
}

const presentedBy = (how: Exclude<PresentToken, string>, url: string, token: string): SocketAddress => {
  try {
    return how(url, token)
  } catch (cause) {
    throw new SpeechError('invalid-options', 'presentToken failed; see the cause.', { cause })
  }
}
