import { BlockList, isIP } from 'node:net'
import { lookup } from 'node:dns/promises'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** The address that was checked and is connected to, so that a second DNS answer cannot differ. */
export interface PinnedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Addresses outside the public network (IANA special-purpose registries, RFC 6890 and its updates). */
const special: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
]

/** Of IPv6 only the public assignment counts, without tunnels and documentation addresses. */
const publicV6 = ['2000::', 3] as const
const specialV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const listOf = (ranges: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[]): BlockList => {
  const list = new BlockList()
  for (const [address, bits, family] of ranges) list.addSubnet(address, bits, family)
  return list
}

const v6 = ([address, bits]: readonly [string, number]) => [address, bits, 'ipv6'] as const

const lists = (() => {
  let cached: { readonly special: BlockList; readonly open: BlockList; readonly loopback: BlockList } | undefined
  return () =>
    (cached ??= {
      special: listOf([...special, ...specialV6.map(v6)]),
      open: listOf([v6(publicV6)]),
      loopback: listOf([['127.0.0.0', 8, 'ipv4'], v6(['::1', 128])]),
    })
})()

export const isPrivateAddress = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return lists().special.check(address, 'ipv4')
  return family !== 6 || !lists().open.check(address, 'ipv6') || lists().special.check(address, 'ipv6')
}

const isLoopbackAddress = (address: string): boolean =>
  lists().loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** The name in a URL without the brackets of IPv6. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/gu, '')

/** Whether a URL names this machine, so that it does not need TLS. */
export const isLoopbackUrl = (url: URL): boolean => {
  const host = hostOf(url)
  return host === 'localhost' || (isIP(host) !== 0 && isLoopbackAddress(host))
}

export type Lookup = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>

const systemLookup: Lookup = (host) => lookup(host, { all: true, verbatim: true })

/**
 * Resolves the host of a URL and checks each answer: one forbidden address refuses the host. Rejects with `refused` for
 * a private address that is not allowed and for plain http to another machine, and with `connection-failed` for a name
 * that cannot be resolved.
 */
export const pinAddress = async (
  url: URL,
  allowPrivate: boolean,
  resolve: Lookup = systemLookup,
): Promise<PinnedAddress> => {
  const host = hostOf(url)
  const answers =
    isIP(host) === 0
      ? await resolve(host).catch((cause: unknown) => {
          throw new SpeechError('connection-failed', 'The host of the webhook cannot be found.', { cause })
        })
      : [{ address: host, family: isIP(host) }]
  const [first] = answers
  if (first === undefined) throw new SpeechError('connection-failed', 'The host of the webhook has no address.')
  if (!allowPrivate && answers.some(({ address }) => isPrivateAddress(address))) {
    throw new SpeechError('refused', 'The host of the webhook is in a private network; set allowPrivate to allow it.')
  }
  if (url.protocol === 'http:' && !answers.every(({ address }) => isLoopbackAddress(address))) {
    throw new SpeechError('refused', 'Without TLS the address of a webhook must be this machine.')
  }
  return { address: first.address, family: first.family === 6 ? 6 : 4 }
}
