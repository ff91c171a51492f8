import { BlockList, isIP, SocketAddress } from 'node:net'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** The address without zone, and as IPv4 where it is mapped into IPv6; undefined for any other text. */
export const plainAddress = (text: string): string | undefined => {
  const address = text.replace(/%.*$/, '')
  if (isIP(address) === 4) return address
  if (isIP(address) === 0) return undefined
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(canonical)?.[1] ?? canonical
}

interface Network {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address; undefined for any other text. */
export const parseNetwork = (text: string): Network | undefined => {
  const [, given = '', length] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? []
  const address = plainAddress(given)
  if (address === undefined) return undefined
  const isMapped = given.includes(':') && !address.includes(':')
  const family = address.includes(':') ? 'ipv6' : 'ipv4'
  const bits = family === 'ipv6' ? 128 : 32
  // The prefix of a mapped address counts the 96 bits that map it.
  const prefix = length === undefined ? bits : Number(length) - (isMapped ? 96 : 0)
  return prefix >= 0 && prefix <= bits ? { address, prefix, family } : undefined
}

/** An address of `X-Forwarded-For` can have a port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const forwardedAddress = (text: string): string | undefined =>
  plainAddress(
    text
      .trim()
      .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
      .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1'),
  )

/**
 * The balancers and proxies that are trusted to report the address of their clients. The networks are those of Node;
 * the package proxy-addr has no ports, reports text that is not an address as the client, and takes `10.0.0` for an
 * address.
 */
export class TrustedProxies {
  readonly #networks = new BlockList()

  /** Networks such as `10.0.0.0/8`, or single addresses. Throws `invalid-options`. */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseNetwork(text)
      if (network === undefined) {
        const message = `trustedProxies: ${JSON.stringify(text)} is not an address and not a network such as 10.0.0.0/8.`
        throw new SpeechError('invalid-options', message)
      }
      this.#networks.addSubnet(network.address, network.prefix, network.family)
    }
  }

  has(address: string | undefined): boolean {
    const plain = plainAddress(address ?? '')
    return plain !== undefined && this.#networks.check(plain, plain.includes(':') ? 'ipv6' : 'ipv4')
  }

  /**
   * The client of a request: `from`, unless that is a trusted proxy; then the rightmost address of `X-Forwarded-For`
   * that is not a trusted proxy. Entries to the left of it were written by the client itself. An entry that is not an
   * address ends the search at the proxy that wrote it.
   */
  clientOf(from: string | undefined, forwardedFor: string | undefined): string | undefined {
    let client = from
    let rest = forwardedFor
    while (rest !== undefined && this.has(client)) {
      const comma = rest.lastIndexOf(',')
      const next = forwardedAddress(rest.slice(comma + 1))
      if (next === undefined) break
      client = next
      rest = comma < 0 ? undefined : rest.slice(0, comma)
    }
    return client
  }
}
