import { usageError } from '../process/failure.js'
import type { Credentials } from '../service/access.js'
import { authUrlFlag } from './address-flags.js'
import { textFlag } from './flag-values.js'

export interface CredentialFlags {
  readonly authUrl?: string
  readonly clientId?: string
  readonly clientSecret?: string
  readonly token?: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** The environment keeps a secret out of the list of processes; empty is as good as not set. */
const fromEnvironment = (env: Environment, name: string): string | undefined =>
  env[name] === '' ? undefined : env[name]

/** The client id and secret of the flags, or the secret of RXSPEECH_CLIENT_SECRET. Throws naming what is missing. */
export const clientCredentials = (
  flags: CredentialFlags,
  env: Environment,
): Extract<Credentials, { type: 'client' }> => {
  const authUrl = authUrlFlag('--auth-url', flags.authUrl)
  const clientId = textFlag('--client-id', flags.clientId)
  const clientSecret = textFlag('--client-secret', flags.clientSecret) ?? fromEnvironment(env, 'RXSPEECH_CLIENT_SECRET')
  if (authUrl === undefined) throw usageError('A token comes from a token endpoint; give its address by --auth-url.')
  if (clientId === undefined) throw usageError('A token is for a client; give its id by --client-id.')
  if (clientSecret === undefined) {
    throw usageError('The client needs its secret; set RXSPEECH_CLIENT_SECRET or give --client-secret.')
  }
  return { type: 'client', authUrl, clientId, clientSecret }
}

/** Whether a flag says how to get a token. */
export const hasCredentialFlags = ({ authUrl, clientId, clientSecret, token }: CredentialFlags): boolean =>
  [authUrl, clientId, clientSecret, token].some((one) => one !== undefined)

/** The credentials of a session: a token, or what gets one. Flags win over the environment. */
export const sessionCredentials = (flags: CredentialFlags, env: Environment): Credentials => {
  const { authUrl, clientId, clientSecret } = flags
  const asksForToken = [authUrl, clientId, clientSecret].some((one) => one !== undefined)
  if (flags.token !== undefined && asksForToken) {
    throw usageError('--token and the options that get one exclude each other; give the one or the others.')
  }
  if (asksForToken) return clientCredentials(flags, env)
  const token = textFlag('--token', flags.token) ?? fromEnvironment(env, 'RXSPEECH_TOKEN')
  if (token !== undefined && /^[\x21-\x7e]+$/.test(token)) return { type: 'token', token }
  if (token !== undefined)
    throw usageError('The token must be visible ASCII characters; check where it was copied from.')
  throw usageError(
    'The service wants a token; give --auth-url and --client-id with RXSPEECH_CLIENT_SECRET, or set RXSPEECH_TOKEN.',
  )
}
