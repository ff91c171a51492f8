import type { TokenInput } from './token-signer.js'

/** The life of a token for a page, in seconds. */
export const pageTokenLifetime = { minS: 60, maxS: 3_600, defaultS: 600 } as const

/** What a token for a page contains (PROTOCOL 2.1), which ends with the rights that it is narrowed from. */
export type PageTokenInput = Omit<TokenInput, 'isForPage' | 'notAfterMs'> & { readonly notAfterMs: number }

/**
 * The origin as browsers send it (RFC 6454 section 6.2): `scheme://host[:port]` in lower case, without a default port;
 * undefined for anything else, also for `null`.
 */
export const parseOrigin = (text: string): string | undefined => {
  if (!/^[a-z][a-z\d+.-]*:\/\/[^/?#@\s\\*]+$/i.test(text) || !URL.canParse(text)) return undefined
  const { origin, protocol, host } = new URL(text)
  // Schemes of apps, such as capacitor://localhost, have no origin for `URL`.
  if (origin === 'null') return host === '' ? undefined : `${protocol}//${host.toLowerCase()}`
  return origin
}
