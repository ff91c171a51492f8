import type { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Adapter, AdapterPayload, Configuration, errors } from 'oidc-provider' with { 'resolution-mode': 'import' }
import type ProviderClass from 'oidc-provider' with { 'resolution-mode': 'import' }
import { loadOptional } from '../../threads/load-optional.js'
import type { ClientAuthentication } from '../clients/client-authentication.js'
import { isClientId, isInForce, tokenLifetimeOf, type ClientStore } from '../clients/client.js'
import { formEndpoint, replayForm, type FormEndpointOptions, type HttpEndpoint } from '../http/form-endpoint.js'
import { exactRetryAfter } from '../../../protocol/retry-after.js'
import { noStoreHeaders, tooManyAttemptsText } from '../http/responses.js'
import type { SigningJwk } from '../keys/key-list.js'
import type { SigningKeys } from '../keys/signing-keys.js'
import { tokenScope } from './token-claims.js'

export const tokenRoute = '/connect/token'

export interface TokenEndpointOptions extends Omit<TokenProviderOptions, 'keys'>, FormEndpointOptions {
  readonly keys: SigningKeys
}

/**
 * `POST /connect/token` (PROTOCOL 2): passes well-formed forms to oidc-provider, with the current signing keys. Never rejects.
 */
export const createTokenEndpoint = async (options: TokenEndpointOptions): Promise<HttpEndpoint> => {
  const { keys, onFault } = options
  const openProvider = (): Promise<TokenProvider> => openTokenProvider({ ...options, keys: keys.current() })
  let list = keys.current()
  let provider = await openProvider()

  // If no new key can be written, such as on a full disk, the existing key continues to sign.
  const rotate = (): Promise<unknown> => keys.rotateIfDue().catch(onFault)

  return formEndpoint(options, async (request, response, { bytes, address }) => {
    await rotate()
    // A provider cannot change its keys, so new keys require a new provider.
    if (list !== keys.current()) {
      list = keys.current()
      provider = await openProvider()
    }
    await provider(replayForm(request, tokenRoute, bytes), response, address)
  })
}

interface TokenProviderOptions {
  readonly issuer: string
  readonly audience: string
  /** The first key signs. */
  readonly keys: readonly [SigningJwk, ...SigningJwk[]]
  readonly clients: ClientStore
  readonly authentication: ClientAuthentication
  readonly now: () => number
  readonly onFault: (error: unknown) => void
  /** Called for each request without a token, with the `error` of RFC 6749 section 5.2 and the address of the client. */
  readonly onRefusal?: ((error: string, address: string) => void) | undefined
}

/** Answers a token request (RFC 6749 section 4.4) whose body has not been read. */
type TokenProvider = (request: IncomingMessage, response: ServerResponse, address: string) => Promise<void>

/**
 * Client metadata for oidc-provider. Every id has some, so that an unknown client is handled like a known one and is
 * refused because of its secret. The secret here is a random placeholder; `compareClientSecret` uses
 * `ClientAuthentication` instead.
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

const doNothing = (): Promise<undefined> => Promise.resolve(undefined)

/** Signed tokens are not stored, so the provider looks up nothing but clients. */
const adapter = (model: string): Adapter => ({
  find: (id) => Promise.resolve(model === 'Client' ? clientMetadata(id) : undefined),
  upsert: doNothing,
  findByUserCode: doNothing,
  findByUid: doNothing,
  consume: doNothing,
  destroy: doNothing,
  revokeByGrantId: doNothing,
})

const createRefusal = ({ errors }: OidcProvider, status: number, error: string, description: string): Error =>
  Object.assign(new errors.OIDCProviderError(status, error), { error_description: description })

type ResourceServerInfo = NonNullable<
  NonNullable<NonNullable<Configuration['features']>['resourceIndicators']>['getResourceServerInfo']
>

/** Describes a token for the service, or refuses it; called after the secret and the grant type were checked. */
const resourceServerInfo =
  ({ audience, keys, clients, now }: TokenProviderOptions, module: OidcProvider): ResourceServerInfo =>
  (ctx, resource, client) => {
    const registration = clients.find(client.clientId)
    if (registration === undefined || !isInForce(registration, now())) {
      throw createRefusal(module, 400, 'unauthorized_client', 'the subscription has expired or was cancelled')
    }
    if (resource !== audience) throw new module.errors.InvalidTarget()
    // The provider grants only what the request names, and ignores an unknown scope: so the default (RFC 6749 section 3.3)
    // is filled in, and any other scope is refused.
    const { params } = ctx.oidc
    if (params !== undefined && (params['scope'] ?? '') === '') params['scope'] = tokenScope
    if (params?.['scope'] !== tokenScope) {
      throw createRefusal(module, 400, 'invalid_scope', `scope must be ${tokenScope}`)
    }
    return {
      scope: tokenScope,
      audience,
      accessTokenFormat: 'jwt',
      accessTokenTTL: tokenLifetimeOf(registration),
      jwt: { sign: { alg: 'ES256', kid: keys[0].kid } },
    }
  }

const disabled = { enabled: false } as const

const configuration = (options: TokenProviderOptions, module: OidcProvider): Configuration => {
  const { audience, keys, clients, now } = options
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
    ttl: { ClientCredentials: (_ctx, _token, { clientId }) => tokenLifetimeOf(clients.find(clientId)) },
    extraTokenClaims: (_, { clientId }) => {
      const { tenants = [], projects = [], models = [] } = clients.find(clientId ?? '') ?? {}
      return { tenants, projects, models }
    },
    formats: {
      customizers: {
        jwt: (_ctx, { clientId = '' }, parts) => {
          const iat = Math.floor(now() / 1000)
          Object.assign(parts.payload, { iat, exp: iat + tokenLifetimeOf(clients.find(clientId)) })
        },
      },
    },
  }
}

const errorOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'error' in body ? String(body.error) : 'unknown'

/** Creates an instance of oidc-provider, which implements RFC 6749. */
const openTokenProvider = async (options: TokenProviderOptions): Promise<TokenProvider> => {
  const { issuer, authentication, onFault, onRefusal } = options
  const module = await loadOidcProvider()
  const { Provider } = module
  const provider = new Provider(issuer, configuration(options, module))
  const addresses = new WeakMap<IncomingMessage, string>()

  // `provider.Client` is a class of this provider only; overriding this method is the documented way to use hashed secrets.
  provider.Client.prototype.compareClientSecret = async function compareClientSecret(secret) {
    const { ctx } = Provider
    if (ctx === undefined) throw new Error('A client secret was compared outside a request.')
    const result = await authentication.authenticate(this.clientId, secret, addresses.get(ctx.req) ?? 'unknown')
    if (result.type === 'wait') {
      ctx.set('Retry-After', exactRetryAfter(result.forMs))
      throw createRefusal(module, 429, 'too_many_attempts', tooManyAttemptsText)
    }
    return result.type === 'accepted'
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
    ctx.set({ ...noStoreHeaders })
    ctx.remove('Access-Control-Allow-Origin')
    ctx.remove('Access-Control-Expose-Headers')
    ctx.remove('Vary')
    // RFC 9110 section 15.5.2 requires a challenge on every 401; the provider sets it only for HTTP Basic.
    if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
      ctx.set('WWW-Authenticate', `Basic realm="${issuer}", error="invalid_client"`)
    }
  })

  const handle = provider.callback()
  let running = 0
  return async (request, response, address) => {
    addresses.set(request, address)
    running += 1
    try {
      await handle(request, response)
    } finally {
      running -= 1
      // Otherwise Node 20 would track every promise and callback of the process from the first request on.
      if (running === 0) module.storage.disable()
    }
  }
}

interface OidcProvider {
  /** Holds the context of a request. */
  readonly storage: Pick<AsyncLocalStorage<unknown>, 'disable'>
  readonly Provider: typeof ProviderClass
  readonly errors: Pick<typeof errors, 'OIDCProviderError' | 'InvalidTarget'>
}

/**
 * Loads oidc-provider, which is ESM only and optional. Rejects with `missing-dependency`.
 *
 * Imports the parts of the package: its index only combines them, and warns on the console that it needs Node 22 although
 * it works on Node 20.
 */
const loadOidcProvider = async (): Promise<OidcProvider> => {
  const [{ Provider }, errors, { default: storage }] = await Promise.all([
    loadOptional<Pick<OidcProvider, 'Provider'>>('oidc-provider/lib/provider.js', 'The identity service'),
    loadOptional<OidcProvider['errors']>('oidc-provider/lib/helpers/errors.js', 'The identity service'),
    loadOptional<{ readonly default: OidcProvider['storage'] }>(
      'oidc-provider/lib/helpers/als.js',
      'The identity service',
    ),
  ])
  return { Provider, errors, storage }
}
