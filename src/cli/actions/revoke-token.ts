import { tokenIdOf } from '../../service/identity/tokens/token-claims.js'
import type { RevokeFlags } from '../options/plan-subscription.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { withStore } from './with-store.js'

/** Somewhat more than the longest token that a service takes. */
const maxInputBytes = 32 * 1024

const readStandardInput = async ({ stdin }: Host): Promise<string> => {
  if (stdin.isTTY) throw usageError('Give the jti of the token, or the token in RXSPEECH_TOKEN or on standard input.')
  let text = ''
  for await (const chunk of stdin.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length > maxInputBytes) throw usageError('Standard input holds more than a token.')
  }
  return text.trim()
}

const idOfToken = (token: string): string => {
  const tokenId = tokenIdOf(token)
  if (tokenId === undefined)
    throw usageError('What was given is no token of this kind; give the whole token, or its jti.')
  return tokenId
}

const tokenIdForm = /^[\w-]{1,128}$/

/**
 * `rxspeech subscription revoke`. The token is not verified: whoever may write to the store may end any, and one that
 * nobody issued ends nothing.
 */
export const revoke = async (
  jti: string | undefined,
  flags: RevokeFlags,
  host: Host,
  output: Output,
): Promise<void> => {
  if (jti?.includes('.') === true) {
    throw usageError('A whole token must not stand in the command; give it in RXSPEECH_TOKEN or on standard input.')
  }
  const fromEnvironment = host.env['RXSPEECH_TOKEN'] ?? ''
  const tokenId = jti ?? idOfToken(fromEnvironment === '' ? await readStandardInput(host) : fromEnvironment)
  if (!tokenIdForm.test(tokenId))
    throw usageError('A jti is of letters, digits, - and _; check where it was copied from.')
  await withStore(flags, (store) => {
    store.revoke(tokenId)
    output.write(`The token ${tokenId} is revoked.\n`)
  })
}
