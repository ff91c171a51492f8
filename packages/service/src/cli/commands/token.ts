import type { Command } from 'commander'
import { firstValueFrom, fromEvent, map, mergeMap, of, race } from 'rxjs'
import type { Token } from 'rxspeech/internal/protocol/token'
import { defineCommand, type CommandCall, type CommandContext } from '../parsing/command.js'
import { flag, flagGroup, flagName, repeatedFlag, switchFlag, type FlagValues } from '../parsing/flags.js'
import { accessFlag, caFlag, clientCredentials, clientFlags, proxyFlag, withAccess } from '../parsing/service-flags.js'
import { duration, text, wholeNumber } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { watchInterruption } from '../process/interruption.js'
import { tokenOf } from '../service/access.js'
import { readCertificates } from '../service/certificate-files.js'
import { pageTokenOf, type PageRights } from '../service/page-token.js'

const tokenFlags = {
  ...clientFlags,
  access: accessFlag,
  ca: caFlag,
  proxy: proxyFlag,
  scope: flag('<scope>', 'the scope of the token (default: Ldm_Integration)', text),
  json: switchFlag('print the whole answer, including expires_in'),
  timeoutMs: flag('<ms>', 'how long it may take (default: 10000)', wholeNumber({ min: 1, max: 600_000 })),
  ...flagGroup('A token for a page:', {
    forPage: switchFlag('a short token with narrower rights, which a page may have'),
    lifetime: flag('<duration>', 'from 60s to 1h (default: 10m)', duration({ maxMs: 86_400_000 })),
    origin: flag('<origin>', 'only for pages of this origin, such as https://www.example.com', text),
    tenant: flag('<name>', 'only for this tenant', text),
    project: repeatedFlag('<name>', 'only for this project; may be repeated', text),
    model: repeatedFlag('<name>', 'only for this model; may be repeated', text),
  }),
}

/** `rxspeech token`. */
export const addToken = (command: Command, context: CommandContext): void =>
  defineCommand(command, context, {
    description: 'Gets a token from a token endpoint and prints only the token on stdout.',
    flags: tokenFlags,
    examples: [
      [
        'export RXSPEECH_TOKEN=$(rxspeech token --auth-url https://auth.example.com --client-id acme)',
        'one token for many commands; the secret is in RXSPEECH_CLIENT_SECRET',
      ],
      [
        'rxspeech token --auth-url https://auth.example.com --client-id acme --for-page --origin https://www.example.com --model english --json',
        'what the backend of a page answers to its page',
      ],
    ],
    run: printToken,
  })

const printToken = async ({ flags: typed, host, output }: CommandCall<typeof tokenFlags, undefined>): Promise<void> => {
  const flags = withAccess(typed)
  const credentials = clientCredentials(flags, host.env)
  const { scope, timeoutMs, proxy } = flags
  const rights = planPageRights(flags)
  const ca = flags.ca === undefined ? undefined : readCertificates('--ca', flags.ca)
  const interruption = watchInterruption(host, { also: output.closed })
  try {
    const requestedAtMs = Date.now()
    const aborted$ = fromEvent(interruption.signal, 'abort').pipe(
      map((): never => {
        throw interruption.signal.reason as Error
      }),
    )
    const token$ = tokenOf(credentials, { ca, scope, timeoutMs, proxy }).pipe(
      mergeMap((token) =>
        rights === undefined ? of(token) : pageTokenOf(token, credentials.authUrl, rights, { ca, timeoutMs, proxy }),
      ),
    )
    const token = await firstValueFrom(race(token$, aborted$))
    output.write(`${flags.json ? JSON.stringify(responseOf(token, requestedAtMs)) : token.accessToken}\n`)
  } finally {
    interruption.release()
  }
}

/** The rights of a token for a page; undefined for a token of the subscriber. Throws `invalid-options`. */
export const planPageRights = (
  flags: Pick<FlagValues<typeof tokenFlags>, 'forPage' | 'lifetime' | 'origin' | 'tenant' | 'project' | 'model'>,
): PageRights | undefined => {
  const { forPage, lifetime, origin, tenant, project, model } = flags
  if (!forPage) {
    const narrowing = Object.entries({ lifetime, origin, tenant, project: project[0], model: model[0] })
    const [first] = narrowing.find(([, value]) => value !== undefined) ?? []
    if (first === undefined) return undefined
    throw usageError(`${flagName(first)} is for the token of a page; add --for-page.`)
  }
  if (lifetime !== undefined && (lifetime < 60_000 || lifetime > 3_600_000)) {
    throw usageError('--lifetime must be from 60s to 1h.')
  }
  const lifetimeS = lifetime === undefined ? undefined : lifetime / 1000
  return { lifetimeS, origin, tenant, projects: project, models: model }
}

/** The answer of the token endpoint as it sends it (PROTOCOL 2). */
const responseOf = ({ accessToken, tokenType, expiresAtMs, scope }: Token, requestedAtMs: number): object => ({
  access_token: accessToken,
  expires_in: expiresAtMs === Infinity ? undefined : Math.round((expiresAtMs - requestedAtMs) / 1000),
  token_type: tokenType,
  scope,
})
