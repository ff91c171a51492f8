import { SpeechError } from '../../errors/speech-error.js'
import { isLoopback } from '../../protocol/loopback.js'

export interface RecognizerUrlOptions {
  readonly modelName: string
  readonly appendModelName: boolean
  readonly allowInsecure: boolean
}

/**
 * The address of the recognition socket (PROTOCOL 4): `/recognizer?ModelName=<model>` below a host
 * that comes without a path; a path of its own is kept. A token must not travel in clear text, so `ws:` is for
 * loopback unless it is allowed.
 */
export const recognizerUrl = (
  base: string,
  { modelName, appendModelName, allowInsecure }: RecognizerUrlOptions,
): string => {
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url === undefined || (url.protocol !== 'wss:' && url.protocol !== 'ws:')) {
    throw new SpeechError('invalid-options', 'url must be an address such as wss://speech.example.com.')
  }
  if (url.protocol === 'ws:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw new SpeechError(
      'invalid-options',
      'url must begin with wss: the token would travel in clear text; or set allowInsecure.',
    )
  }
  if (url.pathname === '/') url.pathname = '/recognizer'
  if (appendModelName && !url.searchParams.has('ModelName')) url.searchParams.set('ModelName', modelName)
  url.hash = ''
  return url.href
}

/** Where and how the recognition socket is opened. */
export interface SocketAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: readonly string[]
}

/**
 * How the token is presented (PROTOCOL 4.1).
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
