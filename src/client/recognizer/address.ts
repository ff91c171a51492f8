import { SpeechError } from '../../errors/speech-error.js'
import { codec } from '../../protocol/validation.js'
import { isLoopback } from '../../protocol/loopback.js'

export interface RecognizerUrlOptions {
  readonly url: string
  readonly model: string
  readonly appendModelName?: boolean | undefined
  readonly insecure?: boolean | undefined
}

/**
 * The address of the recognition socket (PROTOCOL 4): `/recognizer?ModelName=<model>` below a host
 * that comes without a path; a path of its own is kept. A token must not travel in clear text, so `ws:` is for
 * loopback unless it is allowed.
 */
export const recognizerUrl = ({
  url: base,
  model,
  appendModelName = true,
  insecure = false,
}: RecognizerUrlOptions): string => {
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url === undefined || (url.protocol !== 'wss:' && url.protocol !== 'ws:')) {
    throw new SpeechError('invalid-options', 'url must be an address such as wss://example.com.')
  }
  if (url.protocol === 'ws:' && !insecure && !isLoopback(url.hostname)) {
    throw new SpeechError(
      'invalid-options',
      'url must begin with wss: the token would travel in clear text; or set connection.insecure.',
    )
  }
  if (url.pathname === '/') url.pathname = '/recognizer'
  if (appendModelName && !url.searchParams.has('ModelName')) url.searchParams.set('ModelName', model)
  url.hash = ''
  return url.href
}

/** Where and how the recognition socket is opened. */
export interface SocketAddress {
  /** `ws:` or `wss:`, with path and query. */
  readonly url: string
  /** Headers of the upgrade request; not in a browser. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Subprotocols to offer. */
  readonly protocols?: readonly string[] | undefined
}

/**
 * How the token is presented (PROTOCOL 4.1).
 * `header` is for Node, `subprotocol` for browsers, which cannot set headers; `query` leaks into the logs of proxies.
 */
export type PresentToken = 'header' | 'subprotocol' | 'query' | ((url: string, token: string) => SocketAddress)

const ways: readonly PresentToken[] = ['header', 'subprotocol', 'query']

export const tokenPresentation = codec(
  '"header", "subprotocol", "query" or a function',
  (value): value is PresentToken => typeof value === 'function' || ways.some((way) => way === value),
)
