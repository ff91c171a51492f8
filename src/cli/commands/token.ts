import type { Command } from 'commander'
import { firstValueFrom, fromEvent, map, race } from 'rxjs'
import type { Token } from '../../protocol/token.js'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, switchFlag } from '../parsing/flags.js'
import { caFlag, clientCredentials, clientFlags, proxyFlag } from '../parsing/service-flags.js'
import { text, wholeNumber } from '../parsing/values.js'
import { watchInterruption } from '../process/interruption.js'
import { tokenOf } from '../service/access.js'
import { readCertificates } from '../service/certificate-files.js'

const tokenFlags = {
  ...clientFlags,
  ca: caFlag,
  proxy: proxyFlag,
  scope: flag('<scope>', 'the scope of the token (default: Ldm_Integration)', text),
  json: switchFlag('print the whole answer, including expires_in'),
  timeoutMs: flag('<ms>', 'how long it may take (default: 10000)', wholeNumber({ min: 1, max: 600_000 })),
}

/** `rxspeech token`. */
export const addToken = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description: 'Gets a token from a token endpoint and prints only the token on stdout.',
    flags: tokenFlags,
    examples: [
      [
        'export RXSPEECH_TOKEN=$(rxspeech token \\\n' + '      --auth-url https://auth.example.com --client-id acme)',
        'one token for many commands; the secret is in RXSPEECH_CLIENT_SECRET',
      ],
    ],
    run: printToken,
  })

const printToken = async ({ flags, host, output }: CommandCall<typeof tokenFlags, undefined>): Promise<void> => {
  const credentials = clientCredentials(flags, host.env)
  const { scope, timeoutMs, proxy } = flags
  const ca = flags.ca === undefined ? undefined : readCertificates('--ca', flags.ca)
  const interruption = watchInterruption(host, { also: output.closed })
  try {
    const requestedAtMs = Date.now()
    const aborted$ = fromEvent(interruption.signal, 'abort').pipe(
      map((): never => {
        throw interruption.signal.reason as Error
      }),
    )
    const token = await firstValueFrom(race(tokenOf(credentials, { ca, scope, timeoutMs, proxy }), aborted$))
    output.write(`${flags.json ? JSON.stringify(responseOf(token, requestedAtMs)) : token.accessToken}\n`)
  } finally {
    interruption.release()
  }
}

/** The answer of the token endpoint as it sends it (PROTOCOL 2). */
const responseOf = ({ accessToken, tokenType, expiresAtMs, scope }: Token, requestedAtMs: number): object => ({
  access_token: accessToken,
  expires_in: Math.round((expiresAtMs - requestedAtMs) / 1000),
  token_type: tokenType,
  scope,
})
