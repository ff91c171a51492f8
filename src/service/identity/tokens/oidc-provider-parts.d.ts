/** The two modules of oidc-provider that `token-endpoint.ts` imports; `@types/oidc-provider` has types for its index only. */

declare module 'oidc-provider/lib/provider.js' {
  import type ProviderClass from 'oidc-provider' with { 'resolution-mode': 'import' }
  export const Provider: typeof ProviderClass
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  import type { errors } from 'oidc-provider' with { 'resolution-mode': 'import' }
  export const OIDCProviderError: typeof errors.OIDCProviderError
  export const InvalidTarget: typeof errors.InvalidTarget
}
