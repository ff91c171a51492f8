import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Adapter, AdapterPayload, Configuration, errors } from 'oidc-provider' with { 'resolution-mode': 'import' }
import type { ClientAuthentication } from '../clients/client-authentication.js'
import { notStored, retryAfterSeconds } from '../http/responses.js'
import { tokenLifetimeMs, type SigningJwk, type SigningKeys } from '../keys/signing-keys.js'
import { isClientId, isInForce, type SubscriptionStore } from '../clients/client.js'
import { tokenScope } from './token-claims.js'
import { formEndpoint, type FormEndpointOptions, type HttpEndpoint, replayForm } from '../http/form-endpoint.js'
import type ProviderClass from 'oidc-provider' with { 'resolution-mode': 'import' }
import { loadOptional } from '../../../errors/load-optional.js'

export interface TokenEndpointOptions extends Omit<TokenProviderOptions, 'keys'>, FormEndpointOptions {
  readonly keys: SigningKeys
}

/**
 * `POST /connect/token` (service.md 4.3): a form that is as it should be goes to the provider, with the keys of the day.
 * Never rejects.
 */
export const createTokenEndpoint = async (options: TokenEndpointOptions): Promise<HttpEndpoint> => {
  const { keys, onFault } = options
  const openProvider = (): Promise<TokenProvider> => openTokenProvider({ ...options, keys: keys.current() })
  let list = keys.current()
  let provider = await openProvider()

  // A full disk is no reason to turn clients away: the key of before goes on signing.
  const rotate = (): Promise<unknown> => keys.rotateIfDue().catch(onFault)

  return formEndpoint(options, async (request, response, { bytes, address }) => {
    await rotate()
    // The provider holds the keys it was made with, so new keys mean a new one, whoever has seen them first.
    if (list !== keys.current()) {
      list = keys.current()
      provider = await openProvider()
    }
    await provider(replayForm(request, tokenRoute, bytes), response, address)
  })
}

const tokenLifetimeS = tokenLifetimeMs / 1000

export const tokenRoute = '/connect/token'

export interface TokenProviderOptions {
  readonly issuer: string
  readonly audience: string
  /** The first signs. */
  readonly keys: readonly [SigningJwk, ...SigningJwk[]]
  readonly subscriptions: SubscriptionStore
  readonly authentication: ClientAuthentication
  readonly now: () => number
  readonly onFault: (error: unknown) => void
  /** Told of each request that gets no token: the `error` of RFC 6749 section 5.2 and who asked. */
  readonly onRefusal?: (error: string, address: string) => void
}

/** Answers a token request (RFC 6749 section 4.4) whose body is not yet read. */
export type TokenProvider = (request: IncomingMessage, response: ServerResponse, address: string) => Promise<void>

/**
 * Clients as oidc-provider wants them. Every id has one, so that an unknown client takes the same way as a known one
 * and falls at its secret. The secret in it is a random stand-in; `compareClientSecret` asks elsewhere.
 */
const clientMetadata = (clientId: string): AdapterPayload => ({
  client_id: isClientId(clientId) ? clientId : 'malformed',
  client_secret: randomBytes(32).toString('base64url'),
  token_endpoint_auth_method: 'client_secret_basic',
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  id_token_signed_response_alg: 'ES256',
})

const nothing = (): Promise<undefined> => Promise.resolve(undefined)

/** Signed tokens are kept nowhere, so only clients are ever looked up. */
const adapter = (model: string): Adapter => ({
  find: (id) => Promise.resolve(model === 'Client' ? clientMetadata(id) : undefined),
  upsert: nothing,
  findByUserCode: nothing,
  findByUid: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
})

const refusal = ({ errors }: OidcProvider, status: number, error: string, description: string): Error =>
  Object.assign(new errors.OIDCProviderError(status, error), { error_description: description })

type ResourceServerInfo = NonNullable<
  NonNullable<NonNullable<Configuration['features']>['resourceIndicators']>['getResourceServerInfo']
>

/** Says what a token for the service is like, or refuses it: asked when the secret and the grant type are right. */
const resourceServerInfo =
  ({ audience, keys, subscriptions, now }: TokenProviderOptions, module: OidcProvider): ResourceServerInfo =>
  (ctx, resource, client) => {
    const subscription = subscriptions.find(client.clientId)
    if (subscription === undefined || !isInForce(subscription, now())) {
      throw refusal(module, 400, 'unauthorized_client', 'the subscription has expired or was cancelled')
    }
    if (resource !== audience) throw new module.errors.InvalidTarget()
    // The only scope is the default (RFC 6749 section 3.3), which the provider must see to grant it. An unknown one it would drop silently.
    const { params } = ctx.oidc
    if (params !== undefined && (params['scope'] ?? '') === '') params['scope'] = tokenScope
    if (params?.['scope'] !== tokenScope) {
      throw refusal(module, 400, 'invalid_scope', `scope must be ${tokenScope}`)
    }
    return {
      scope: tokenScope,
      audience,
      accessTokenFormat: 'jwt',
      accessTokenTTL: tokenLifetimeS,
      jwt: { sign: { alg: 'ES256', kid: keys[0].kid } },
    }
  }

const disabled = { enabled: false } as const

const configuration = (options: TokenProviderOptions, module: OidcProvider): Configuration => {
  const { audience, keys, subscriptions, now } = options
  return {
    adapter,
    jwks: { keys: keys.map((key) => ({ ...key, alg: 'ES256', use: 'sig' })) },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    responseTypes: [],
    scopes: [],
    routes: { token: tokenRoute },
    clientBasedCORS: () => false,
    renderError: (ctx, out) => {
      ctx.body = out
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: disabled,
      dPoP: disabled,
      pushedAuthorizationRequests: disabled,
      rpInitiatedLogout: disabled,
      userinfo: disabled,
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: resourceServerInfo(options, module),
      },
    },
    ttl: { ClientCredentials: tokenLifetimeS },
    extraTokenClaims: (_, { clientId }) => {
      const { tenants = [], projects = [], models = [] } = subscriptions.find(clientId ?? '') ?? {}
      return { tenants, projects, models }
    },
    formats: {
      customizers: {
        jwt: (_ctx, _token, parts) => {
          const iat = Math.floor(now() / 1000)
          Object.assign(parts.payload, { iat, exp: iat + tokenLifetimeS })
        },
      },
    },
  }
}

const errorOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'error' in body ? String(body.error) : 'unknown'

/** The token endpoint on oidc-provider, which decides all that RFC 6749 decides; see `configuration` for what it asks us. */
export const openTokenProvider = async (options: TokenProviderOptions): Promise<TokenProvider> => {
  const { issuer, authentication, onFault, onRefusal } = options
  const module = await loadOidcProvider()
  const { Provider } = module
  const provider = new Provider(issuer, configuration(options, module))
  const addresses = new WeakMap<IncomingMessage, string>()

  // `provider.Client` is a class of this one provider, and the method is its documented place for hashed secrets.
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(secret) {
    const { ctx } = Provider
    if (ctx === undefined) throw new Error('A client secret was compared outside a request.')
    const verdict = await authentication.authenticate(this.clientId, secret, addresses.get(ctx.req) ?? 'unknown')
    if (verdict.type === 'wait') {
      ctx.set('Retry-After', retryAfterSeconds(verdict.forMs))
      throw refusal(module, 429, 'too_many_attempts', 'wait for the time that Retry-After names')
    }
    return verdict.type === 'accepted'
  }

  provider.silent = true
  provider.on('server_error', (_, error) => onFault(error))
  provider.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      onFault(error)
      ctx.status = 500
      ctx.body = { error: 'server_error', error_description: 'the service failed; try again' }
    }
    if (ctx.status >= 400) onRefusal?.(errorOf(ctx.body), addresses.get(ctx.req) ?? 'unknown')
    ctx.set({ ...notStored })
    ctx.remove('Access-Control-Allow-Origin')
    ctx.remove('Access-Control-Expose-Headers')
    ctx.remove('Vary')
    // RFC 9110 section 15.5.2 wants a challenge on every 401, the provider sets it only for HTTP Basic.
    if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
      ctx.set('WWW-Authenticate', `Basic realm="${issuer}", error="invalid_client"`)
    }
  })

  const handle = provider.callback()
  return async (request, response, address) => {
    addresses.set(request, address)
    await handle(request, response)
  }
}

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
