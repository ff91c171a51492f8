import type { IncomingMessage, ServerResponse } from 'node:http'
import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { spreadRetryAfter } from '../../protocol/retry-after.js'
import { createClientAuthentication } from './clients/client-authentication.js'
import { answerError, answerJson } from './http/responses.js'
import { peerAddress } from './http/peer-address.js'
import { openIdentityState } from './identity-state.js'
import { openSigningKeys } from './keys/signing-keys.js'
import type { SubscriptionStore } from './clients/client.js'
import type { HttpEndpoint } from './http/form-endpoint.js'
import {
  introspectionEndpoint,
  introspectionRoute,
  revocationEndpoint,
  revocationRoute,
} from './tokens/token-status-endpoints.js'
import { createTokenEndpoint, tokenRoute } from './tokens/token-endpoint.js'
import { createTokenVerifier, publicJwk, type Grant } from './tokens/token-verifier.js'
import { tokenScope } from './tokens/token-claims.js'

const dayMs = 86_400_000

export interface IdentityOptions {
  /**
   * Base address of this identity service, such as `https://speech.example.com`; the token endpoint is below it. It
   * stands in every token, so a change ends all tokens.
   */
  readonly issuer: string
  /** Whom the tokens are for, an absolute URI; default `urn:rxspeech:service`. A change ends all tokens. */
  readonly audience?: string
  /**
   * Where signing keys, subscriptions and revoked tokens survive a restart. Several processes may share it. Without it,
   * a restart ends all tokens.
   */
  readonly stateFolder?: string
  /** Those who may ask for tokens, beside those of the store in the state folder. */
  readonly subscriptions?: SubscriptionStore
  /** The clock and the deadlines; default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
  /** How many wrong secrets a minute are let through, by client and by address; default 20, in development 200. */
  readonly bruteForce?: { readonly failuresPerMinute: number }
  readonly development?: boolean
  /** The age at which the signing key is followed by a new one, in milliseconds; default 90 days. Old ones still verify. */
  readonly rotateKeysAfterMs?: number
  /** The peer's address; default that of the socket. Behind a proxy that can be trusted, read its header. */
  readonly addressOf?: (request: IncomingMessage) => string | undefined
  /** Told of faults inside; the peer learns nothing but `server_error`. Default: nobody is told. */
  readonly onFault?: (error: unknown) => void
  /** Told of each request that gets no token: the `error` of RFC 6749 section 5.2 and the address that asked. */
  readonly onRefusal?: (error: string, address: string) => void
}

/** The identity service: issues bearer tokens and verifies them (service.md 4.3 and section 5). */
export interface Identity {
  /**
   * Answers a request for the token endpoint, introspection, revocation, the keys (`/jwks`) or the metadata (RFC 8414); false, and nothing done,
   * when the path is none of these. Never rejects. The body must not have been read.
   */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>
  /** What the token allows, now. Rejects with `unauthenticated` whatever is amiss; once a session is enough. */
  verify(token: string): Promise<Grant>
  /** Why a grant of before is good no longer; undefined while it is. */
  endOf(grant: Grant): SpeechError | undefined
  /** Another number whenever subscriptions or revocations have changed, by another process, too. */
  version(): number
  /** Emits when they were changed by this process. */
  readonly changed$: Observable<unknown>
  /** Ends one token by `Grant.tokenId`, at once; settles when that would survive a restart. */
  revoke(tokenId: string): Promise<void>
  /** From now on requests are answered 503 and no store is asked; settles when all state is kept. */
  close(): Promise<void>
}

const basePath = (issuer: string): string => {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || /[?#"\\\s]/.test(issuer)) {
    throw new SpeechError('invalid-options', 'issuer must be an http or https address without query and fragment.')
  }
  return url.pathname.replace(/\/$/, '')
}

const validate = ({ audience, bruteForce, rotateKeysAfterMs }: IdentityOptions): void => {
  const refuse = (message: string): never => {
    throw new SpeechError('invalid-options', message)
  }
  if (audience !== undefined && (!URL.canParse(audience) || audience.includes('#'))) {
    refuse('audience must be an absolute URI without fragment.')
  }
  if (bruteForce !== undefined && !(bruteForce.failuresPerMinute >= 1)) {
    refuse('bruteForce.failuresPerMinute must be at least 1.')
  }
  if (rotateKeysAfterMs !== undefined && !(rotateKeysAfterMs >= dayMs)) {
    refuse('rotateKeysAfterMs must be at least a day.')
  }
}

const answerPublic = (request: IncomingMessage, response: ServerResponse, body: object): void => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    answerError(response, 405, 'invalid_request', 'only GET is allowed here', { Allow: 'GET, HEAD' })
    return
  }
  answerJson(response, 200, body, { 'Cache-Control': 'public, max-age=300', 'Access-Control-Allow-Origin': '*' })
}

const answerClosing = (response: ServerResponse): void => {
  const headers = { 'Retry-After': spreadRetryAfter(5_000) }
  answerError(response, 503, 'temporarily_unavailable', 'the service is closing', headers)
}

/** Opens the identity service. Rejects with `invalid-options` or `missing-dependency`. */
export const createIdentity = async (options: IdentityOptions): Promise<Identity> => {
  validate(options)
  const { issuer, audience = 'urn:rxspeech:service', scheduler = asyncScheduler } = options
  const { development = false, bruteForce = { failuresPerMinute: development ? 200 : 20 } } = options
  const { rotateKeysAfterMs: rotateAfterMs = 90 * dayMs, onFault = () => undefined } = options
  const remoteAddressOf = options.addressOf ?? ((request) => request.socket.remoteAddress)
  const addressOf = (request: IncomingMessage): string => peerAddress(remoteAddressOf(request))
  const base = basePath(issuer)
  const now = (): number => scheduler.now()
  const where = { now, ...(options.stateFolder === undefined ? {} : { stateFolder: options.stateFolder }) }
  const given = options.subscriptions === undefined ? {} : { subscriptions: options.subscriptions }

  const state = await openIdentityState({ ...where, ...given, origin: { issuer, audience } })
  const keys = await openSigningKeys({ ...where, rotateAfterMs }).catch(async (error: unknown) => {
    await state.close()
    throw error
  })
  const { subscriptions, revocations } = state
  const authentication = createClientAuthentication({ ...bruteForce, subscriptions, now })
  const { retryAfterMs } = authentication
  const shared = { issuer, audience, subscriptions, now, retryAfterMs }
  const told = { onFault, ...(options.onRefusal === undefined ? {} : { onRefusal: options.onRefusal }) }
  const token = await createTokenEndpoint({ ...shared, ...told, keys, authentication, scheduler, addressOf })
  const verifier = await createTokenVerifier({ ...shared, keys, revocations })
  const status = { ...shared, ...told, revocations, verifier, authentication, scheduler, addressOf }
  let closed = false

  const endpoints = new Map<string, HttpEndpoint>([
    [`${base}${tokenRoute}`, token],
    [`${base}${introspectionRoute}`, introspectionEndpoint(status)],
    [`${base}${revocationRoute}`, revocationEndpoint(status)],
  ])
  const publicDocuments = new Map<string, () => object>([
    [`${base}/jwks`, () => ({ keys: keys.current().map(publicJwk) })],
    [`${base}/.well-known/openid-configuration`, () => metadata(issuer)],
    [`/.well-known/oauth-authorization-server${base}`, () => metadata(issuer)],
  ])

  return {
    verify: verifier.verify,
    endOf: verifier.endOf,
    version: state.version,
    changed$: state.changed$,
    revoke: (tokenId) => revocations.add(tokenId),
    handle: async (request, response) => {
      const [path = ''] = (request.url ?? '').split('?', 1)
      const document = publicDocuments.get(path)
      const endpoint = endpoints.get(path)
      if (document === undefined && endpoint === undefined) return false
      if (closed) {
        answerClosing(response)
      } else if (document !== undefined) {
        await keys.refresh().catch(onFault)
        answerPublic(request, response, document())
      } else await endpoint?.(request, response)
      return true
    },
    close: () => {
      closed = true
      return state.close()
    },
  }
}

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
