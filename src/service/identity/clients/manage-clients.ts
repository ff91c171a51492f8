import { SpeechError } from '../../../errors/speech-error.js'
import { hashSecret, newClientId, newClientSecret } from './client-secret.js'
import { isInForce, type StoredSubscription, type Subscription, type SubscriptionStore } from './client.js'

/** A store of clients that can be changed. */
export interface ClientRegistry extends SubscriptionStore {
  readonly find: (clientId: string) => StoredSubscription | undefined
  /** All clients, the oldest first. */
  readonly list: () => readonly StoredSubscription[]
  /** Throws `invalid-options` when the client is malformed or its id is taken, also by a canceled one. */
  readonly add: (subscription: StoredSubscription) => void
  /** Ends the subscription and all its tokens for good. Returns false when there is no such client. */
  readonly cancel: (clientId: string) => boolean
  /** Replaces the hash of the secret. The previous secret stays valid until `previousUntilMs`, or ends at once. */
  readonly replaceSecret: (clientId: string, secretHash: string, previousUntilMs?: number) => boolean
}

/** What a subscription is to be; its secret is made here. */
export interface SubscriptionWish extends Omit<
  Subscription,
  'clientId' | 'secretHash' | 'previousSecret' | 'cancelled'
> {
  /** Default: 128 random bits. */
  readonly clientId?: string
}

/** A subscription and the one chance to see its secret, of which only a hash is kept. */
export interface IssuedSecret {
  readonly subscription: StoredSubscription
  readonly clientSecret: string
}

/** Makes a subscription with a new secret (service.md 5.2). Rejects with `invalid-options`. */
export const createSubscription = async (
  store: ClientRegistry,
  { clientId = newClientId(), ...wish }: SubscriptionWish,
  nowMs: number,
): Promise<IssuedSecret> => {
  const clientSecret = newClientSecret()
  const secretHash = await hashSecret(clientSecret)
  const subscription = { ...wish, clientId, secretHash, cancelled: false, createdAtMs: nowMs }
  store.add(subscription)
  return { subscription, clientSecret }
}

const stored = (store: ClientRegistry, clientId: string): StoredSubscription => {
  const subscription = store.find(clientId)
  if (subscription === undefined) {
    throw new SpeechError('invalid-options', `There is no subscription ${JSON.stringify(clientId)}.`)
  }
  return subscription
}

/** Ends a subscription and all its tokens for good. Throws `invalid-options` when there is none. */
export const cancelSubscription = (store: ClientRegistry, clientId: string): StoredSubscription => {
  stored(store, clientId)
  store.cancel(clientId)
  return stored(store, clientId)
}

/**
 * Gives a subscription a new secret. The one of before stays good for the overlap, so that no client is locked out until
 * it has the new one; 0 ends it at once, as one would that has leaked. Tokens stay good: they are revoked, not rotated.
 */
export const rotateSecret = async (
  store: ClientRegistry,
  clientId: string,
  { overlapMs, nowMs }: { readonly overlapMs: number; readonly nowMs: number },
): Promise<IssuedSecret> => {
  const before = stored(store, clientId)
  if (before.cancelled) {
    throw new SpeechError(
      'invalid-options',
      `The subscription ${JSON.stringify(clientId)} is cancelled; create another.`,
    )
  }
  const clientSecret = newClientSecret()
  const hash = await hashSecret(clientSecret, before.secretHash)
  store.replaceSecret(clientId, hash, overlapMs === 0 ? undefined : nowMs + overlapMs)
  return { subscription: stored(store, clientId), clientSecret }
}

export type SubscriptionState = 'valid' | 'not yet' | 'expired' | 'cancelled'

export const subscriptionState = (subscription: Subscription, nowMs: number): SubscriptionState => {
  if (subscription.cancelled) return 'cancelled'
  if (isInForce(subscription, nowMs)) return 'valid'
  return subscription.validFromMs > nowMs ? 'not yet' : 'expired'
}
