import { isIPv6 } from 'node:net'

const groups = (part: string): readonly string[] => (part === '' ? [] : part.split(':'))

/**
 * The key under which a peer is counted: its IPv4 address, also when that is mapped into IPv6, or the /64 network of
 * its IPv6 address, because one subscriber commonly has all 2^64 addresses of it (RFC 6177).
 */
export const peerAddress = (remoteAddress: string | undefined): string => {
  const address = (remoteAddress ?? 'unknown').toLowerCase()
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const zeros = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array<string>(Math.max(0, zeros)).fill('0'), ...groups(tail)]
  return `${all.slice(0, 4).join(':')}::/64`
}
