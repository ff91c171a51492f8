import { SpeechError } from '../../errors/speech-error.js'
import type { PresentToken, SocketAddress } from './address.js'

const isBrowser = (): boolean => typeof globalThis.process?.versions?.node !== 'string'

/** The address with the token. Throws `invalid-options` if a function of the user fails. */
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

const presentedBy = (how: Exclude<PresentToken, string>, url: string, token: string): SocketAddress => {
  try {
    return how(url, token)
  } catch (cause) {
    throw new SpeechError('invalid-options', 'presentToken failed; see the cause.', { cause })
  }
}
