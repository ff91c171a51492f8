import { SpeechError } from '../../../errors/speech-error.js'
import { isSecretHash } from './client-secret.js'

/** Stands in a list of grants for all there are. */
export const everything = '*'

/**
 * A subscriber's right to use the service (service.md 4.3 and section 5). Only the hash of the secret is kept.
 * Each list of grants holds names, or `*` for all.
 */
export interface Subscription {
  readonly clientId: string
  /** From `hashSecret`. */
  readonly secretHash: string
  /** The secret of before a rotation, which is good until then; milliseconds since 1970. */
  readonly previousSecret?: { readonly hash: string; readonly untilMs: number }
  readonly tenants: readonly string[]
  readonly projects: readonly string[]
  readonly models: readonly string[]
  /** Milliseconds since 1970; the first moment of validity. */
  readonly validFromMs: number
  /** Milliseconds since 1970; the first moment after validity. */
  readonly validUntilMs: number
  readonly cancelled: boolean
  /** Whether it may ask what tokens of others allow (RFC 7662), as a gateway in front of the service does. Default false. */
  readonly mayIntrospect?: boolean
}

/** A subscription as a store keeps it. */
export interface StoredSubscription extends Subscription {
  readonly createdAtMs: number
}

/** Where subscriptions are looked up: at the token endpoint and again whenever a token is verified. */
export interface SubscriptionStore {
  find(clientId: string): Subscription | undefined
  /**
   * Another number whenever a subscription has changed; asked each second while sessions run. Without it each of them is
   * looked up each second.
   */
  version?(): number
}

/** RFC 6749 appendix A.1 allows these characters; the colon is left out for HTTP Basic (RFC 7617 section 2). */
export const isClientId = (text: string): boolean => /^[\x21-\x39\x3b-\x7e]{1,128}$/.test(text)

/** True when the subscription is neither cancelled, nor over, nor still to begin. */
export const isInForce = (subscription: Subscription, atMs: number): boolean =>
  !subscription.cancelled && subscription.validFromMs <= atMs && atMs < subscription.validUntilMs

/** True when a list of grants holds the name itself, not only `*`. */
export const isGrantedByName = (granted: readonly string[], name: string): boolean =>
  name !== everything && granted.includes(name)

/** True when a list of grants holds the name, or `*`. */
export const isGranted = (granted: readonly string[], name: string): boolean =>
  granted.includes(everything) || granted.includes(name)

/** What both lists grant. */
export const grantedByBoth = (one: readonly string[], other: readonly string[]): readonly string[] =>
  one.includes(everything) ? other : one.filter((name) => isGranted(other, name))

/** Grants travel in each token, and a token in an HTTP header, where Node takes 16 KiB in all. */
const maxGrantBytes = 8192

/** Throws `invalid-options` for a subscription that is malformed. */
export const validateSubscription = (subscription: Subscription): Subscription => {
  const { clientId, secretHash, tenants, projects, models, validFromMs, validUntilMs } = subscription
  const refuse = (fault: string): never => {
    throw new SpeechError('invalid-options', `The subscription ${JSON.stringify(clientId)} ${fault}.`)
  }
  if (typeof clientId !== 'string' || !isClientId(clientId)) {
    refuse('needs a clientId of 1 to 128 printable ASCII characters without space and colon')
  }
  const { previousSecret: { hash: previousHash } = { hash: secretHash } } = subscription
  if (!isSecretHash(secretHash) || !isSecretHash(previousHash)) refuse('needs a secretHash made by hashSecret')
  if (Number.isNaN(validFromMs) || !(validFromMs < validUntilMs)) refuse('must begin before it ends')
  if (Buffer.byteLength(JSON.stringify([tenants, projects, models])) > maxGrantBytes) {
    refuse(`may name at most ${maxGrantBytes} bytes of tenants, projects and models; use * for all`)
  }
  return subscription
}

/**
 * Subscriptions in memory. Throws `invalid-options` when one of them is malformed or two share a client id.
 * A change of the list later on is made by a store of one's own.
 */
export const memorySubscriptions = (list: Iterable<Subscription>): SubscriptionStore => {
  const byClientId = new Map<string, Subscription>()
  for (const subscription of list) {
    const { clientId } = validateSubscription(subscription)
    if (byClientId.has(clientId)) {
      throw new SpeechError('invalid-options', `Two subscriptions have the clientId ${JSON.stringify(clientId)}.`)
    }
    byClientId.set(clientId, subscription)
  }
  return { find: (clientId) => byClientId.get(clientId), version: () => 0 }
}
