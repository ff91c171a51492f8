import type { ChannelOptions } from '@grpc/grpc-js'
import { SpeechError } from '../../errors/speech-error.js'
import type { ProxyOption } from '../../protocol/proxy-option.js'
import { proxyFor, type Proxy } from '../../proxy/proxy.js'

/** Where a call goes, as far as a proxy has to know it. */
export interface ProxiedTarget {
  readonly address: string
  readonly insecure?: boolean
  readonly proxy?: ProxyOption
}

/** The proxy for a target that is looked up as a name; others, such as `unix:`, have none. Throws `invalid-options`. */
export const proxyOfTarget = ({ address, insecure, proxy: option }: ProxiedTarget): Proxy | undefined => {
  const authority = authorityOf(address)
  const target = `${insecure === true ? 'http' : 'https'}://${authority}`
  if (authority === undefined || !URL.canParse(target)) return undefined
  const proxy = proxyFor(new URL(target), option)
  if (proxy === undefined || proxy.url.protocol === 'http:') return proxy
  throw new SpeechError(
    'invalid-options',
    'The proxy of a gRPC session must have an address that begins with http://; the gRPC package knows no other.',
  )
}

const authorityOf = (address: string): string | undefined => {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(?!\d)(?:\/\/[^/]*\/)?(.*)$/i.exec(address) ?? []
  if (scheme === undefined) return address
  return scheme.toLowerCase() === 'dns' ? rest : undefined
}

export interface ProxiedChannel {
  /** What the channel connects to. */
  readonly address: string
  readonly options: ChannelOptions
}

/**
 * A channel through a proxy, or directly. What the gRPC package makes of the environment is switched off, so that one set of
 * rules holds for every connection; it is told of the proxy as it tells itself.
 */
export const channelThrough = (address: string, proxy: Proxy | undefined): ProxiedChannel => {
  const direct = { 'grpc.enable_http_proxy': 0 }
  if (proxy === undefined) return { address, options: direct }
  const authority = authorityOf(address) ?? address
  return {
    address: `dns:${proxy.name}`,
    options: {
      ...direct,
      'grpc.http_connect_target': `dns:${authority}`,
      'grpc.default_authority': authority,
      ...(proxy.credentials === undefined ? {} : { 'grpc.http_connect_creds': proxy.credentials }),
    },
  }
}
