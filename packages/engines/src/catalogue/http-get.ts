import * as http from 'node:http'
import * as https from 'node:https'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import type { ProxyOption } from 'rxspeech/internal/protocol/proxy-option'
import { connectionOf } from 'rxspeech/internal/proxy/connect'

/** How files are requested. */
export interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** The proxy to go through; `false` for none. @default the environment */
  readonly proxy?: ProxyOption | undefined
  /** Ends the request, also while its body is read. */
  readonly signal: AbortSignal
  /** How long nothing may arrive, in milliseconds. @default 30_000 */
  readonly idleMs?: number | undefined
  /** Whether http is allowed beyond this machine, for what is no secret. @default false */
  readonly allowsHttp?: boolean | undefined
}

/** An answer whose body is not read yet. */
export interface GetAnswer {
  readonly status: number
  /** Undefined for a header that is absent. */
  readonly header: (name: string) => string | undefined
  readonly body: http.IncomingMessage
  /** The host that answered, for messages: an address to which a service redirects may contain secrets. */
  readonly host: string
}

const maxRedirects = 5

/**
 * Requests a file. Redirects are followed, only to https, or from this machine to itself; with `allowsHttp` from http to
 * any address of http, too.
 *
 * Rejects with `invalid-options` for an address that may not be used, and with `connection-failed`.
 */
export const httpGet = async (address: URL, options: GetOptions): Promise<GetAnswer> => {
  let url = checkFileUrl(address, options)
  for (let redirects = 0; ; redirects += 1) {
    const body = await request(url, options)
    const status = body.statusCode ?? 0
    const { location } = body.headers
    if (status < 300 || status > 399 || location === undefined) {
      return { status, body, host: url.host, header: (name) => [body.headers[name]].flat()[0] }
    }
    body.destroy()
    url = redirectedTo(url, location, options)
    if (redirects === maxRedirects) throw refusedRedirect(url, `redirects more than ${maxRedirects} times`)
  }
}

/**
 * Throws `invalid-options` for an address of a file that is not https, or http on this machine, or that has a password.
 */
export const checkFileUrl = (url: URL, permissions: Permissions = {}): URL => {
  if (url.username !== '' || url.password !== '') {
    throw new SpeechError('invalid-options', 'The address of a file must have no user and no password; remove them.')
  }
  if (isAllowed(url, permissions)) return url
  throw new SpeechError('invalid-options', 'The address of a file must begin with https://, or be on this machine.')
}

type Permissions = Pick<GetOptions, 'allowsHttp'>

const isAllowed = ({ protocol, hostname }: URL, { allowsHttp = false }: Permissions): boolean =>
  protocol === 'https:' || (protocol === 'http:' && (allowsHttp || isLoopback(hostname)))

const redirectedTo = (from: URL, location: string, permissions: Permissions): URL => {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined
  const isDowngrade = from.protocol === 'https:' && to?.protocol !== 'https:'
  if (to === undefined || isDowngrade || !isAllowed(to, permissions)) {
    throw refusedRedirect(from, 'redirects to an address that is not https, which is not followed')
  }
  return to
}

const refusedRedirect = ({ host }: URL, what: string): SpeechError =>
  new SpeechError('connection-failed', `${host} ${what}; check the address.`, { retryable: false })

const request = (url: URL, { headers, proxy: option, signal, idleMs = 30_000, allowsHttp }: GetOptions) =>
  new Promise<http.IncomingMessage>((resolve, reject) => {
    const isSecure = url.protocol === 'https:'
    const settings = {
      headers: { 'accept-encoding': 'identity', 'user-agent': 'rxspeech', ...headers },
      signal,
      ...connectionOf(url, option, signal),
    }
    const asked = (isSecure ? https : http).get(url, settings, resolve)
    asked.setTimeout(idleMs, () => {
      const seconds = Math.round(idleMs / 1000)
      asked.destroy(new SpeechError('connection-lost', `${url.host} has sent nothing for ${seconds} s.`))
    })
    // It stays for the lifetime of the request; an error after the beginning of the answer appears in the body.
    asked.on('error', (error) => reject(requestFailed(url, error, signal, allowsHttp)))
  })

/** The error for a failed request: the reason of the signal, that of a proxy, or one of this package. */
const requestFailed = ({ host }: URL, error: unknown, signal: AbortSignal, allowsHttp = false): Error => {
  if (signal.aborted) return signal.reason as Error
  if (isSpeechError(error)) return error
  const code = codeOf(error) ?? 'unknown'
  // A mirror is for files of models.
  const remedy = allowsHttp
    ? 'check the address and the network, or set --proxy'
    : 'check the network, or set --proxy or --mirror'
  const sentence = `${host} cannot be reached (${code}); ${remedy}.`
  return new SpeechError('connection-failed', sentence, { cause: error })
}
