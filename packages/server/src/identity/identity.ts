import type { IncomingMessage, ServerResponse } from 'node:http'
import { asyncScheduler, type Observable, type SchedulerLike } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { spreadRetryAfter } from 'rxspeech/internal/protocol/retry-after'
import {
  checkOptions,
  codec,
  flag,
  functionValue,
  isText,
  number,
  objectWith,
  optionsOf,
  schedulerValue,
  text,
} from 'rxspeech/internal/protocol/validation'
import { createClientAuthentication, type FailureExchange } from './clients/client-authentication.js'
import { sendError, sendJson } from './http/responses.js'
import { peerAddress } from './http/peer-address.js'
import { openIdentityState } from './identity-state.js'
import { openKeysFile } from './keys/keys-file.js'
import { openSigningKeys } from './keys/signing-keys.js'
import type { ClientStore } from './clients/client.js'
import type { HttpEndpoint } from './http/form-endpoint.js'
import type { SharedIdentity } from './shared-identity.js'
import {
  introspectionEndpoint,
  introspectionRoute,
  revocationEndpoint,
  revocationRoute,
} from './tokens/token-status-endpoints.js'
import { tokenEndpoint, tokenRoute } from './tokens/token-endpoint.js'
import { pageTokenEndpoint, pageTokenRoute } from './tokens/page-token-endpoint.js'
import type { PageTokenInput } from './tokens/page-tokens.js'
import { createTokenSigner, type IssuedToken } from './tokens/token-signer.js'
import { createTokenVerifier, publicJwk, type Grant } from './tokens/token-verifier.js'
import { tokenScope } from './tokens/token-claims.js'

const dayMs = 86_400_000

/** The audience of tokens without another one. */
export const defaultAudience = 'urn:rxspeech:service'

/** How tokens are issued and verified. */
export interface IdentityOptions {
  /**
   * Base address of this identity service, such as `https://speech.example.com`; the token endpoint is below it. Each
   * token contains it, so changing it invalidates all issued tokens.
   */
  readonly issuer: string
  /** Token audience (`aud`), an absolute URI. A change invalidates all tokens. @default 'urn:rxspeech:service' */
  readonly audience?: string | undefined
  /**
   * The folder of signing keys, clients and revoked tokens, which several processes can share. Without it a restart
   * invalidates all tokens. @default none
   */
  readonly stateFolder?: string | undefined
  /**
   * A file with the signing keys of several machines, such as a mounted secret; it is read again when it changes, and
   * never written. `rxspeech keys rotate --file` creates it and adds keys. @default the keys of the state folder
   */
  readonly keysFile?: string | undefined
  /** The clients that can request tokens, in addition to those of the store in the state folder. @default none */
  readonly clients?: ClientStore | undefined
  /** The clock and the deadlines. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
  /** How many wrong secrets per minute are allowed, by client and by address. @default 20, in development 200 */
  readonly bruteForce?: { readonly failuresPerMinute: number } | undefined
  /** More generous limits. @default false */
  readonly development?: boolean | undefined
  /** The age at which a new key replaces the signing key, in milliseconds; old keys still verify. @default 90 days */
  readonly rotateKeysAfterMs?: number | undefined
  /** The address of the client; behind a trusted proxy, read its header. @default the address of the socket */
  readonly addressOf?: ((request: IncomingMessage) => string | undefined) | undefined
  /** Called with internal errors, which clients see as `server_error`. @default none */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** Called for each refused request with its `error` (RFC 6749 section 5.2) and the client's address. @default none */
  readonly onRefusal?: ((error: string, address: string) => void) | undefined
}

/** The options that a service passes on to its identity service. */
export type IdentityGroup = Pick<
  IdentityOptions,
  'audience' | 'keysFile' | 'rotateKeysAfterMs' | 'bruteForce' | 'addressOf'
>

export const identityGroupCodecs = {
  audience: codec(
    'an absolute URI without fragment',
    (value): value is string => isText(value) && URL.canParse(value) && !value.includes('#'),
  ),
  bruteForce: optionsOf<NonNullable<IdentityOptions['bruteForce']>>()({ failuresPerMinute: number({ min: 1 }) }, {}),
  keysFile: text,
  rotateKeysAfterMs: number({ min: dayMs }),
  addressOf: functionValue,
}

const identityOptions = optionsOf<IdentityOptions>()(
  { issuer: text },
  {
    ...identityGroupCodecs,
    stateFolder: text,
    clients: objectWith('find'),
    scheduler: schedulerValue,
    development: flag,
    onFault: functionValue,
    onRefusal: functionValue,
  },
)

/** The identity service: issues bearer tokens and verifies them (PROTOCOL 2). */
export interface Identity {
  /**
   * Answers requests for the token endpoint, tokens for pages, introspection, revocation, the keys (`/jwks`) and the
   * metadata (RFC 8414).
   * Returns false, and does nothing, for any other path. The body must not have been read. Never rejects.
   */
  handle(request: IncomingMessage, response: ServerResponse): Promise<boolean>
  /** Returns what the token allows now. Rejects with `unauthenticated`. Necessary once per session. */
  verify(token: string): Promise<Grant>
  /** Why an earlier grant is no longer valid; undefined while it is valid. */
  endOf(grant: Grant): SpeechError | undefined
  /** A number that differs after each change of clients or revocations, also by another process. */
  version(): number
  /** Emits after each such change by this process. */
  readonly changed$: Observable<unknown>
  /** Signs a token for a page (PROTOCOL 2.1) with these rights, which the caller has checked. */
  issuePageToken(input: PageTokenInput): Promise<IssuedToken>
  /** Ends one token, by `Grant.tokenId`, at once; settles when the revocation is stored. */
  revoke(tokenId: string): Promise<void>
  /** From now on answers requests with 503 and no longer reads the store; settles when everything is stored. */
  close(): Promise<void>
}

/** What an identity service has in common with those of other machines. */
export interface SharedParts {
  /** The clients and revoked tokens, if the options name NATS servers. */
  readonly identity?: SharedIdentity | undefined
  /** Wrong secrets. */
  readonly failures?: FailureExchange | undefined
}

/** Opens the identity service. Rejects with `invalid-options` or `missing-dependency`. */
export const createIdentity = async (options: IdentityOptions, shared: SharedParts = {}): Promise<Identity> => {
  checkOptions(identityOptions, options)
  const { issuer, stateFolder, audience = defaultAudience, scheduler = asyncScheduler, onRefusal } = options
  const { development = false, bruteForce = { failuresPerMinute: development ? 200 : 20 } } = options
  const { rotateKeysAfterMs: rotateAfterMs = 90 * dayMs, onFault = () => undefined } = options
  const remoteAddressOf = options.addressOf ?? ((request) => request.socket.remoteAddress)
  const addressOf = (request: IncomingMessage): string => peerAddress(remoteAddressOf(request))
  const base = basePath(issuer)
  const now = (): number => scheduler.now()

  const state = await openIdentityState({
    stateFolder,
    now,
    shared: shared.identity,
    clients: options.clients,
    origin: { issuer, audience },
  })
  const { keysFile: path } = options
  const opening =
    path === undefined ? openSigningKeys({ stateFolder, now, rotateAfterMs }) : openKeysFile({ path, now })
  const keys = await opening.catch(async (error: unknown) => {
    await state.close()
    throw error
  })
  const { clients, revocations } = state
  const authentication = createClientAuthentication({ ...bruteForce, clients, now, exchange: shared.failures })
  const verifier = await createTokenVerifier({ issuer, audience, clients, now, keys, revocations })
  const sign = await createTokenSigner({ issuer, audience, keys, now, onFault })
  const { retryAfterMs } = authentication
  const endpointOptions = {
    issuer,
    audience,
    clients,
    now,
    keys,
    revocations,
    verifier,
    authentication,
    sign,
    retryAfterMs,
    scheduler,
    addressOf,
    onFault,
    onRefusal,
  }
  const endpoints = new Map<string, HttpEndpoint>([
    [`${base}${tokenRoute}`, tokenEndpoint(endpointOptions)],
    [`${base}${pageTokenRoute}`, pageTokenEndpoint(endpointOptions)],
    [`${base}${introspectionRoute}`, introspectionEndpoint(endpointOptions)],
    [`${base}${revocationRoute}`, revocationEndpoint(endpointOptions)],
  ])
  const publicDocuments = new Map<string, () => object>([
    [`${base}/jwks`, () => ({ keys: keys.current().map(publicJwk) })],
    [`${base}/.well-known/openid-configuration`, () => metadata(issuer)],
    [`/.well-known/oauth-authorization-server${base}`, () => metadata(issuer)],
  ])
  let isClosed = false

  return {
    verify: verifier.verify,
    endOf: verifier.endOf,
    version: state.version,
    changed$: state.changed$,
    issuePageToken: (input) => sign({ ...input, isForPage: true }),
    revoke: (tokenId) => revocations.add(tokenId),
    handle: async (request, response) => {
      const [path = ''] = (request.url ?? '').split('?', 1)
      const document = publicDocuments.get(path)
      const endpoint = endpoints.get(path)
      if (document === undefined && endpoint === undefined) return false
      if (isClosed) {
        sendClosing(response)
      } else if (document !== undefined) {
        await keys.refresh().catch(onFault)
        sendPublic(request, response, document())
      } else await endpoint?.(request, response)
      return true
    },
    close: () => {
      isClosed = true
      return state.close()
    },
  }
}

const basePath = (issuer: string): string => {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || /[?#"\\\s]/.test(issuer)) {
    throw new SpeechError('invalid-options', 'issuer must be an http or https address without query and fragment.')
  }
  return url.pathname.replace(/\/$/, '')
}

const sendPublic = (request: IncomingMessage, response: ServerResponse, body: object): void => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    sendError(response, 405, 'invalid_request', 'only GET is allowed here', { Allow: 'GET, HEAD' })
    return
  }
  sendJson(response, 200, body, { 'Cache-Control': 'public, max-age=300', 'Access-Control-Allow-Origin': '*' })
}

const sendClosing = (response: ServerResponse): void => {
  const headers = { 'Retry-After': spreadRetryAfter(5_000) }
  sendError(response, 503, 'temporarily_unavailable', 'the service is closing', headers)
}

/** Server metadata (RFC 8414). There is no authorization endpoint, so the list of response types is empty. */
const metadata = (issuer: string) => {
  const base = issuer.replace(/\/$/, '')
  const authMethods = ['client_secret_basic', 'client_secret_post']
  return {
    issuer,
    token_endpoint: `${base}${tokenRoute}`,
    page_token_endpoint: `${base}${pageTokenRoute}`,
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
