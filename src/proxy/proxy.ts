import { getProxyForUrl } from 'proxy-from-env'
import { SpeechError } from '../errors/speech-error.js'
import { isLoopback } from '../protocol/loopback.js'
import type { ProxyOption } from '../protocol/proxy-option.js'

/**
 * A proxy, with its credentials apart from its address, so that they do not get into messages, logs or agents by
 * accident.
 */
export interface Proxy {
  /** `host:port`, for messages. */
  readonly name: string
  /** Without user and password. */
  readonly url: URL
  /** `user:password`. */
  readonly credentials: string | undefined
}

/** Throws `invalid-options` for an invalid address; the error never repeats it, because it may contain a password. */
export const checkProxy = (option: unknown, name = 'proxy'): void => {
  if (option !== undefined && option !== false) readProxy(option, name)
}

/**
 * The proxy for a connection to this address (`http:` or `ws:` is plain text); undefined for a direct connection.
 *
 * A proxy of the environment on another machine is not used for loopback addresses: there they mean that machine, and
 * plain text must not leave this one. Throws `invalid-options`.
 */
export const proxyFor = (target: URL, option: ProxyOption | undefined): Proxy | undefined => {
  if (option === false) return undefined
  const isPlain = target.protocol === 'http:' || target.protocol === 'ws:'
  const isHere = isLoopback(target.hostname)
  if (option !== undefined) {
    const proxy = readProxy(option, 'proxy')
    if (!isHere || !isPlain || isLoopback(proxy.url.hostname)) return proxy
    throw new SpeechError(
      'invalid-options',
      'proxy is on another machine: a loopback address means that machine there, and plain text would leave this one.',
    )
  }
  const asked = new URL(`${isPlain ? 'http' : 'https'}://${target.host}`)
  const named = getProxyForUrl(asked)
  if (named === '') return undefined
  const proxy = readProxy(named, 'The proxy that the environment names')
  return isHere && !isLoopback(proxy.url.hostname) ? undefined : proxy
}

const readProxy = (given: unknown, what: string): Proxy => {
  const text = given instanceof URL ? given.href : given
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  const isAddress =
    url?.hostname !== '' && url?.pathname.replace('/', '') === '' && url.search === '' && url.hash === ''
  if (url === undefined || !isAddress || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SpeechError('invalid-options', `${what} must be an address such as http://proxy.example.com:3128.`)
  }
  const credentials = credentialsOf(url, what)
  url.username = ''
  url.password = ''
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port
  return { name: `${url.hostname}:${port}`, url, credentials }
}

const credentialsOf = ({ username, password }: URL, what: string): string | undefined => {
  if (username === '' && password === '') return undefined
  try {
    return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  } catch {
    throw new SpeechError('invalid-options', `${what} must have a user and a password that are percent-encoded.`)
  }
}

/** The header with the credentials for a proxy (RFC 9110 section 11.7.2). */
export const proxyHeaders = ({ credentials }: Proxy): Readonly<Record<string, string>> =>
  credentials === undefined ? {} : { 'Proxy-Authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
