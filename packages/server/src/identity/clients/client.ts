import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { isSecretHash } from './client-secret.js'

/** In a list of grants: all names. */
export const everything = '*'

/**
 * The registration of an OAuth client, which users know as a subscription: the right to request tokens and what they
 * grant (PROTOCOL 2). Each list of grants holds names, or `*` for all.
 */
export interface ClientRegistration {
  /** The id that the client presents, 1 to 128 printable ASCII characters without space and colon. */
  readonly clientId: string
  /** From `hashSecret`; the secret itself is never stored. */
  readonly secretHash: string
  /** The secret before a rotation, which stays valid until then; milliseconds since 1970. */
  readonly previousSecret?: { readonly hash: string; readonly untilMs: number } | undefined
  /** The tenants whose sessions it can run. */
  readonly tenants: readonly string[]
  /** The projects that it can run over gRPC. */
  readonly projects: readonly string[]
  /** The models that it can use. */
  readonly models: readonly string[]
  /** The first moment of validity; milliseconds since 1970. */
  readonly validFromMs: number
  /** The first moment after the validity; milliseconds since 1970. */
  readonly validUntilMs: number
  /** Whether the registration was ended before its time. */
  readonly cancelled: boolean
  /**
   * Whether the client can introspect tokens of other clients (RFC 7662), as a gateway in front of the service does.
   * @default false
   */
  readonly mayIntrospect?: boolean | undefined
  /** How long the tokens of the client are valid, in whole seconds, 60 to 31536000. @default 31536000: 365 days */
  readonly tokenLifetimeSeconds?: number | undefined
}

/** A registration as a store keeps it. */
export interface StoredClient extends ClientRegistration {
  /** When it was registered; milliseconds since 1970. */
  readonly createdAtMs: number
}

/** Looks up clients: at the token endpoint, and again each time a token is verified. */
export interface ClientStore {
  /** The client with this id; undefined if there is none. */
  find(clientId: string): ClientRegistration | undefined
  /**
   * A number that differs after each change of a client; read every second while sessions run. Without this method the
   * client of each session is looked up every second.
   */
  version?(): number
}

/** RFC 6749 appendix A.1 allows these characters; the colon is excluded because of HTTP Basic (RFC 7617 section 2). */
export const isClientId = (text: string): boolean => /^[\x21-\x39\x3b-\x7e]{1,128}$/.test(text)

/** Whether the registration has begun, has not ended and is not cancelled. */
export const isInForce = (client: ClientRegistration, atMs: number): boolean =>
  !client.cancelled && client.validFromMs <= atMs && atMs < client.validUntilMs

/** Whether a list of grants names this one, not only by `*`. */
export const isGrantedByName = (granted: readonly string[], name: string): boolean =>
  name !== everything && granted.includes(name)

/** Whether a list of grants holds the name, or `*`. */
export const isGranted = (granted: readonly string[], name: string): boolean =>
  granted.includes(everything) || granted.includes(name)

/** The names that both lists grant. */
export const grantedByBoth = (first: readonly string[], second: readonly string[]): readonly string[] =>
  first.includes(everything) ? second : first.filter((name) => isGranted(second, name))

/** Each token carries the grants, and travels in an HTTP header, of which Node accepts 16 KiB in total. */
export const maxGrantBytes = 8192

/** The shortest and the longest life of a token, in seconds; the longest is 365 days (PROTOCOL 2). */
export const minTokenLifetimeSeconds = 60
export const maxTokenLifetimeSeconds = 31_536_000

/** The lifetime of new tokens of the client, in seconds: the shortest if the store has no number. */
export const tokenLifetimeOf = (client: ClientRegistration | undefined): number => {
  const seconds = Math.floor(client?.tokenLifetimeSeconds ?? maxTokenLifetimeSeconds)
  return seconds >= 1 ? Math.min(seconds, maxTokenLifetimeSeconds) : minTokenLifetimeSeconds
}

export const isTokenLifetime = (seconds: number): boolean =>
  Number.isInteger(seconds) && seconds >= minTokenLifetimeSeconds && seconds <= maxTokenLifetimeSeconds

/** Throws `invalid-options` unless it is a number of seconds that a token can be valid. */
export const checkTokenLifetime = (seconds: number): number => {
  if (isTokenLifetime(seconds)) return seconds
  throw new SpeechError(
    'invalid-options',
    `tokenLifetimeSeconds must be a whole number from ${minTokenLifetimeSeconds} to ${maxTokenLifetimeSeconds}.`,
  )
}

/** Throws `invalid-options` for a malformed registration. */
export const validateClient = (client: ClientRegistration): ClientRegistration => {
  const { clientId, secretHash, tenants, projects, models, validFromMs, validUntilMs, tokenLifetimeSeconds } = client
  const refuse = (fault: string): never => {
    throw new SpeechError('invalid-options', `The subscription ${JSON.stringify(clientId)} ${fault}.`)
  }
  if (typeof clientId !== 'string' || !isClientId(clientId)) {
    refuse('needs a clientId of 1 to 128 printable ASCII characters without space and colon')
  }
  const { previousSecret: { hash: previousHash } = { hash: secretHash } } = client
  if (!isSecretHash(secretHash) || !isSecretHash(previousHash)) refuse('needs a secretHash made by hashSecret')
  if (Number.isNaN(validFromMs) || !(validFromMs < validUntilMs)) refuse('must begin before it ends')
  if (Buffer.byteLength(JSON.stringify([tenants, projects, models])) > maxGrantBytes) {
    refuse(`may name at most ${maxGrantBytes} bytes of tenants, projects and models; use * for all`)
  }
  if (tokenLifetimeSeconds !== undefined) checkTokenLifetime(tokenLifetimeSeconds)
  return client
}

/**
 * Clients in memory; the list cannot change later. Throws `invalid-options` when one is malformed or two share an id.
 *
 * @example
 * const secretHash = await hashSecret(clientSecret)
 * const validity = { validFromMs: Date.now(), validUntilMs: Date.parse('2040-01-01'), cancelled: false }
 * const grants = { tenants: ['Default'], projects: ['transcribe'], models: ['*'] }
 * const clients = memoryClients([{ clientId: 'acme', secretHash, ...grants, ...validity }])
 */
export const memoryClients = (clients: Iterable<ClientRegistration>): ClientStore => {
  const byClientId = new Map<string, ClientRegistration>()
  for (const client of clients) {
    const { clientId } = validateClient(client)
    if (byClientId.has(clientId)) {
      throw new SpeechError('invalid-options', `Two subscriptions have the clientId ${JSON.stringify(clientId)}.`)
    }
    byClientId.set(clientId, client)
  }
  return { find: (clientId) => byClientId.get(clientId), version: () => 0 }
}
