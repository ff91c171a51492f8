import { isLoopback } from '../../protocol/loopback.js'
import { checkProxy } from '../../proxy/proxy.js'
import { usageError } from '../process/failure.js'

/** A gRPC address as its option says it: `HOST:PORT`, an IPv6 address in brackets; the port may be left out for 443. */
export const grpcAddressFlag = (flag: string, value: string | undefined): string | undefined => {
  if (value === undefined) return undefined
  if (hostOf(value) !== undefined) return value
  throw usageError(`${flag} must be HOST:PORT, such as speech.example.com:443, without a scheme.`)
}

/** The host of `HOST:PORT`, without brackets; undefined when it is none. */
export const hostOf = (address: string): string | undefined => {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/@[\]]+))(?::(\d{1,5}))?$/.exec(address) ?? []
  return port !== undefined && (Number(port) < 1 || Number(port) > 65_535) ? undefined : (bracketed ?? plain)
}

/** The address of a recognition socket. A token would go with it, so plain `ws:` is for this machine. */
export const socketUrlFlag = (flag: string, value: string | undefined): string | undefined => {
  if (value === undefined) return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || !['wss:', 'ws:'].includes(url.protocol)) {
    throw usageError(`${flag} must be an address such as wss://speech.example.com.`)
  }
  if (url.username !== '' || url.password !== '') throw usageError(`${flag} must not hold a user or a password.`)
  if (url.protocol === 'ws:' && !isLoopback(url.hostname)) {
    throw usageError(`${flag} must begin with wss://, else the token could be read on the way.`)
  }
  return value
}

/** The base address of a token endpoint. The secret would go with it, so plain `http:` is for this machine. */
export const authUrlFlag = (flag: string, value: string | undefined): string | undefined => {
  if (value === undefined) return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || !['https:', 'http:'].includes(url.protocol)) {
    throw usageError(`${flag} must be an address such as https://auth.example.com.`)
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(`${flag} must be a plain base address, without user, password, query or fragment.`)
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw usageError(`${flag} must begin with https://, else the client secret could be read on the way.`)
  }
  return value
}

/** The address of an HTTP proxy, or false for none. What was given is not printed: it may hold a password. */
export const proxyFlag = (flag: string, given: string | false | undefined): string | false | undefined => {
  try {
    checkProxy(given)
    return given
  } catch (error) {
    throw usageError(
      `${flag} must be an address such as http://proxy.example.com:3128, or http://user:password@….`,
      error,
    )
  }
}
