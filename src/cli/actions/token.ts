import { firstValueFrom, fromEvent, map, race } from 'rxjs'
import type { Token } from '../../protocol/token.js'
import type { Host } from '../process/host.js'
import { watchInterruption } from '../process/interruption.js'
import { clientCredentials } from '../options/credential-flags.js'
import { proxyFlag } from '../options/address-flags.js'
import { textFlag, wholeNumberFlag } from '../options/flag-values.js'
import type { Output } from '../process/output.js'
import { readCertificates } from '../service/read-certificates.js'
import { tokenOf } from '../service/token-of.js'

export interface TokenFlags {
  readonly authUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly ca?: string
  readonly proxy?: string | false
  readonly scope?: string
  readonly json?: boolean
  readonly timeoutMs?: string
}

/** `rxspeech token`: a token on stdout, and nothing else there. */
export const token = async (flags: TokenFlags, host: Host, output: Output): Promise<void> => {
  const credentials = clientCredentials(flags, host.env)
  const scope = textFlag('--scope', flags.scope)
  const timeoutMs = wholeNumberFlag('--timeout-ms', flags.timeoutMs, { least: 1, most: 600_000 })
  const ca = flags.ca === undefined ? undefined : readCertificates('--ca', flags.ca)
  const proxy = proxyFlag('--proxy', flags.proxy)
  const interruption = watchInterruption(host, { also: output.gone })
  try {
    const askedMs = Date.now()
    const aborted$ = fromEvent(interruption.signal, 'abort').pipe(
      map((): never => {
        throw interruption.signal.reason as Error
      }),
    )
    const request = scope === undefined ? credentials : { ...credentials, scope }
    const got = await firstValueFrom(race(tokenOf(request, { ca, timeoutMs, proxy }), aborted$))
    output.write(`${flags.json === true ? JSON.stringify(responseOf(got, askedMs)) : got.accessToken}\n`)
  } finally {
    interruption.release()
  }
}

/** The answer of the endpoint in its own words (service.md 2.8). */
const responseOf = ({ accessToken, tokenType, expiresAtMs, scope }: Token, askedMs: number): object => ({
  access_token: accessToken,
  expires_in: Math.round((expiresAtMs - askedMs) / 1000),
  token_type: tokenType,
  ...(scope === undefined ? {} : { scope }),
})
