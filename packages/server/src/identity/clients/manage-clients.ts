import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { anything, checkOptions, flag, number, optionsOf, text } from 'rxspeech/internal/protocol/validation'
import { hashSecret, newClientId, newClientSecret } from './client-secret.js'
import { isInForce, type ClientRegistration, type ClientStore, type StoredClient } from './client.js'

/** A client store that can be changed. */
export interface ClientRegistry extends ClientStore {
  /** The client with this id; undefined if there is none. */
  readonly find: (clientId: string) => StoredClient | undefined
  /** All clients, the oldest first. */
  readonly list: () => readonly StoredClient[]
  /** Throws `invalid-options` when the client is malformed or its id exists, even if that client is cancelled. */
  readonly add: (client: StoredClient) => void
  /** Ends the registration and all its tokens permanently. Returns false when there is no such client. */
  readonly cancel: (clientId: string) => boolean
  /**
   * Replaces the hash of the secret. The previous secret stays valid until `previousUntilMs`; without it, it ends at
   * once. Returns false when there is no such client.
   */
  readonly replaceSecret: (clientId: string, secretHash: string, previousUntilMs?: number) => boolean
  /**
   * Sets how long new tokens of the client are valid; undefined is the default. Returns false when there is no such
   * client. Throws `invalid-options` for a lifetime that a token cannot have.
   */
  readonly setTokenLifetime: (clientId: string, seconds: number | undefined) => boolean
}

/** A client registry whose changes may take time, such as one of several machines. */
export interface AsyncClientRegistry extends Pick<ClientRegistry, 'find' | 'list'> {
  /** Like `add` of `ClientRegistry`. */
  readonly add: (client: StoredClient) => Promise<void> | void
  /** Like `cancel` of `ClientRegistry`. */
  readonly cancel: (clientId: string) => Promise<boolean> | boolean
  /** Like `replaceSecret` of `ClientRegistry`. */
  readonly replaceSecret: (clientId: string, secretHash: string, previousUntilMs?: number) => Promise<boolean> | boolean
  /** Like `setTokenLifetime` of `ClientRegistry`. */
  readonly setTokenLifetime: (clientId: string, seconds: number | undefined) => Promise<boolean> | boolean
}

/** A client to register; its secret is generated. */
export interface ClientInput extends Omit<
  ClientRegistration,
  'clientId' | 'secretHash' | 'previousSecret' | 'cancelled'
> {
  /** The id of the client, 1 to 128 printable ASCII characters without space and colon. @default 128 random bits */
  readonly clientId?: string | undefined
}

const grants = listOf(text)
const clientInput = optionsOf<ClientInput>()(
  // The registry checks that a client begins before it ends.
  { tenants: grants, projects: grants, models: grants, validFromMs: anything, validUntilMs: anything },
  { clientId: text, mayIntrospect: flag, tokenLifetimeSeconds: number() },
)

/** A client with its new secret, which cannot be read again: only a hash is stored. */
export interface IssuedSecret {
  /** The registration as it is stored, with the hash of the secret. */
  readonly client: StoredClient
  /** The secret itself; show it once. */
  readonly clientSecret: string
}

/**
 * Registers a client with a new secret. Rejects with `invalid-options`.
 *
 * @example
 * const store = await openIdentityStore({ stateFolder: '.rxspeech' })
 * const grants = { tenants: ['Default'], projects: ['transcribe'], models: ['*'] }
 * const validity = { validFromMs: Date.now(), validUntilMs: Date.parse('2040-01-01') }
 * const { clientSecret } = await registerClient(store, { clientId: 'acme', ...grants, ...validity }, Date.now())
 */
export const registerClient = async (
  registry: AsyncClientRegistry,
  client: ClientInput,
  nowMs: number,
): Promise<IssuedSecret> => {
  const { clientId = newClientId(), ...input } = checkOptions(clientInput, client)
  const clientSecret = newClientSecret()
  const secretHash = await hashSecret(clientSecret)
  const registered = { ...input, clientId, secretHash, cancelled: false, createdAtMs: nowMs }
  await registry.add(registered)
  return { client: registered, clientSecret }
}

const findClient = (registry: Pick<ClientRegistry, 'find'>, clientId: string): StoredClient => {
  const client = registry.find(clientId)
  if (client === undefined) {
    throw new SpeechError('invalid-options', `There is no subscription ${JSON.stringify(clientId)}.`)
  }
  return client
}

/**
 * Ends a registration and all its tokens permanently. Throws `invalid-options` when there is none.
 *
 * @example
 * const store = await openIdentityStore({ stateFolder: '.rxspeech' })
 * cancelClient(store, 'acme')
 */
export const cancelClient = (registry: ClientRegistry, clientId: string): StoredClient => {
  findClient(registry, clientId)
  registry.cancel(clientId)
  return findClient(registry, clientId)
}

/** When the previous secret of a client ends. */
export interface RotateSecretOptions {
  /** How long the previous secret stays valid, in milliseconds; 0 ends it at once. */
  readonly overlapMs: number
  /** The time, in milliseconds since 1970. */
  readonly nowMs: number
}

const rotateSecretOptions = optionsOf<RotateSecretOptions>()({ overlapMs: number({ min: 0 }), nowMs: number() }, {})

/**
 * Gives a client a new secret. The previous secret stays valid during the overlap, so that the client can switch
 * without an interruption; an overlap of 0 ends it at once, as for a leaked secret. Issued tokens stay valid.
 *
 * @example
 * const store = await openIdentityStore({ stateFolder: '.rxspeech' })
 * const { clientSecret } = await rotateSecret(store, 'acme', { overlapMs: 86_400_000, nowMs: Date.now() })
 */
export const rotateSecret = async (
  registry: AsyncClientRegistry,
  clientId: string,
  options: RotateSecretOptions,
): Promise<IssuedSecret> => {
  const { overlapMs, nowMs } = checkOptions(rotateSecretOptions, options)
  const client = findClient(registry, clientId)
  if (client.cancelled) {
    throw new SpeechError(
      'invalid-options',
      `The subscription ${JSON.stringify(clientId)} is cancelled; create another.`,
    )
  }
  const clientSecret = newClientSecret()
  const hash = await hashSecret(clientSecret, client.secretHash)
  await registry.replaceSecret(clientId, hash, overlapMs === 0 ? undefined : nowMs + overlapMs)
  return { client: findClient(registry, clientId), clientSecret }
}

export type ClientState = 'valid' | 'not yet' | 'expired' | 'cancelled'

export const clientState = (client: ClientRegistration, nowMs: number): ClientState => {
  if (client.cancelled) return 'cancelled'
  if (isInForce(client, nowMs)) return 'valid'
  return client.validFromMs > nowMs ? 'not yet' : 'expired'
}
