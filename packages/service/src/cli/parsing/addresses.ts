import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import { checkProxy } from 'rxspeech/internal/proxy/proxy'
import type { ListenAddress } from 'rxspeech/internal/transport/listen-address'
import { parseListenAddress } from '../../configuration/listen-address.js'
import { usageError } from '../process/failure.js'
import type { ParseValue } from './flags.js'
import { quoted } from './values.js'

/** A gRPC address, `HOST:PORT` or `grpcs://HOST:PORT`, an IPv6 address in brackets; without a port it is 443. */
export const grpcAddress: ParseValue<string> = (typed, flag) => {
  if (hostOf(typed) !== undefined) return typed
  throw usageError(`${flag} must be HOST:PORT, such as speech.example.com:443, or grpcs://HOST:PORT${butIs(typed)}.`)
}

/** The input for a message, unless it contains a user, who may have a password. */
const butIs = (typed: string): string => (typed.includes('@') ? '' : `, not ${quoted(typed)}`)

/** The host of `HOST:PORT`, without scheme and brackets; undefined if it is malformed. */
export const hostOf = (address: string): string | undefined => {
  const [, bracketed, plain, port] =
    /^(?:grpcs:\/\/)?(?:\[([0-9a-fA-F:.]+)\]|([^:\s/@[\]]+))(?::(\d{1,5}))?$/i.exec(address) ?? []
  return port !== undefined && (Number(port) < 1 || Number(port) > 65_535) ? undefined : (bracketed ?? plain)
}

/** The address of a recognition socket. The token travels over it, so plain `ws:` is for this machine only. */
export const socketUrl: ParseValue<string> = (typed, flag) => {
  const url = URL.canParse(typed) ? new URL(typed) : undefined
  if (url === undefined || !['wss:', 'ws:'].includes(url.protocol)) {
    throw usageError(`${flag} must be an address such as wss://speech.example.com.`)
  }
  if (url.username !== '' || url.password !== '') throw usageError(`${flag} must not contain a user or a password.`)
  if (url.protocol === 'ws:' && !isLoopback(url.hostname)) {
    throw usageError(`${flag} must begin with wss://, otherwise the token could be read in transit.`)
  }
  return typed
}

/** The base address of a token endpoint. The secret travels to it, so plain `http:` is for this machine only. */
export const authUrl: ParseValue<string> = (typed, flag) => {
  const url = URL.canParse(typed) ? new URL(typed) : undefined
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) {
    throw usageError(`${flag} must be an address such as https://auth.example.com.`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(`${flag} must be a plain base address, without user, password, query or fragment.`)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw usageError(`${flag} must begin with https://, otherwise the client secret could be read in transit.`)
  }
  return typed
}

/** The address of an HTTP proxy. Errors do not repeat it, because it may contain a password. */
export const proxyAddress: ParseValue<string> = (typed, flag) => {
  try {
    checkProxy(typed)
    return typed
  } catch (error) {
    throw usageError(
      `${flag} must be an address such as http://proxy.example.com:3128, or http://user:password@….`,
      error,
    )
  }
}

/** The address on which a service listens; port 0 selects a free one. */
export const listenAddress: ParseValue<ListenAddress> = (typed, flag) => {
  try {
    return parseListenAddress(typed)
  } catch (error) {
    throw usageError(
      `${flag} must be HOST:PORT with a port of at most 65535, such as 127.0.0.1:0 or [::1]:8443${butIs(typed)}.`,
      error,
    )
  }
}
