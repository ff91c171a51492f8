import type ProviderClass from 'oidc-provider' with { 'resolution-mode': 'import' }
import type { errors } from 'oidc-provider' with { 'resolution-mode': 'import' }
import { loadOptional } from '../../errors/load-optional.js'

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
export const loadOidcProvider = (): Promise<OidcProvider> =>
  loadOptional('oidc-provider@9', 'The identity service', async () => {
    const [{ Provider }, errors] = await Promise.all([
      import('oidc-provider/lib/provider.js'),
      import('oidc-provider/lib/helpers/errors.js'),
    ])
    return { Provider, errors }
  })
