import { introspectionRoute, revocationRoute } from './token-status-endpoints.js'
import { tokenScope } from './token-claims.js'
import { tokenRoute } from './token-provider.js'

/** RFC 8414. There is no authorization endpoint, hence the empty list of response types. */
export const metadata = (issuer: string) => {
  const base = issuer.replace(/\/$/, '')
  const authMethods = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    token_endpoint: `${base}${tokenRoute}`,
    introspection_endpoint: `${base}${introspectionRoute}`,
    revocation_endpoint: `${base}${revocationRoute}`,
    jwks_uri: `${base}/jwks`,
    scopes_supported: [tokenScope],
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
  }
}
