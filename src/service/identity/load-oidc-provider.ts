import type ProviderClass from 'oidc-provider' with { 'resolution-mode': 'import' }
import type { errors } from 'oidc-provider' with { 'resolution-mode': 'import' }
import { SpeechError } from '../../errors/speech-error.js'

export interface OidcProvider {
  readonly Provider: typeof ProviderClass
  readonly errors: Pick<typeof errors, 'OIDCProviderError' | 'InvalidTarget'>
}

/**
 * Loads oidc-provider, which is ESM only and optional. Rejects with `missing-dependency`.
 *
 * Its parts are imported one by one: the index of the package does nothing more than put them together, and warns on the
 * console that it wants Node 22 though it works on Node 20. A service's console belongs to its operator.
 */
export const loadOidcProvider = async (): Promise<OidcProvider> => {
  try {
    const [{ Provider }, errors] = await Promise.all([
      import('oidc-provider/lib/provider.js'),
      import('oidc-provider/lib/helpers/errors.js'),
    ])
    return { Provider, errors }
  } catch (cause) {
    throw new SpeechError('missing-dependency', 'The identity service needs the package oidc-provider 9; install it.', {
      cause,
    })
  }
}
