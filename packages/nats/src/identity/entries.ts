import { either } from 'fp-ts'
import * as t from 'io-ts'
import { isSecretHash } from 'rxspeech-server/identity/clients/client-secret'
import { isTokenLifetime, type StoredClient } from 'rxspeech-server/identity/clients/client'

/** The kind of an entry of the bucket, and what its key names. */
export type EntryName =
  { readonly kind: 'client'; readonly clientId: string } | { readonly kind: 'revocation'; readonly tokenId: string }

/**
 * Keys have letters, digits, `-`, `_`, `/`, `=` and dots: any other character, and `=`, becomes `=` and its hex digits.
 */
const encodeName = (name: string): string =>
  Buffer.from(name, 'utf8')
    .toString('latin1')
    .replace(/[^\w-]/g, (byte) => `=${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)

const decodeName = (text: string): string =>
  Buffer.from(
    text.replace(/=([\da-f]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')

/** `client.acme` and `revoked.6mH2…`. */
export const keyOf = (name: EntryName): string =>
  name.kind === 'client' ? `client.${encodeName(name.clientId)}` : `revoked.${encodeName(name.tokenId)}`

/** Undefined for a key of a later version. */
export const nameOf = (key: string): EntryName | undefined => {
  const [kind, name, ...more] = key.split('.')
  if (name === undefined || more.length > 0) return undefined
  if (kind === 'client') return { kind: 'client', clientId: decodeName(name) }
  return kind === 'revoked' ? { kind: 'revocation', tokenId: decodeName(name) } : undefined
}

const secretHash = new t.Type<string, string, unknown>(
  'SecretHash',
  isSecretHash,
  (value, context) => (isSecretHash(value) ? t.success(value) : t.failure(value, context)),
  (value) => value,
)

const names = t.readonlyArray(t.string)

/**
 * The last instant that a date can have, in milliseconds from 1970 on, and before it as well (ECMA-262 section
 * 21.4.1.1).
 */
const maxInstantMs = 8_640_000_000_000_000

const instantMs = t.refinement(t.number, (ms) => Math.abs(ms) <= maxInstantMs, 'Instant')

const lifetimeSeconds = t.refinement(t.number, isTokenLifetime, 'Lifetime')

const clientCodec = t.intersection([
  t.type({
    v: t.literal(1),
    secretHash,
    tenants: names,
    projects: names,
    models: names,
    validFromMs: instantMs,
    /** Null is never. */
    validUntilMs: t.union([instantMs, t.null]),
    cancelled: t.boolean,
    mayIntrospect: t.boolean,
    createdAtMs: instantMs,
  }),
  t.partial({
    previousSecret: t.type({ hash: secretHash, untilMs: instantMs }),
    tokenLifetimeSeconds: lifetimeSeconds,
  }),
])

/** The value of a client's entry. Secrets are in it as their hashes only, as in `identity.db`. */
export const encodeClient = (client: StoredClient): string => {
  const { clientId: _id, validUntilMs, mayIntrospect = false, previousSecret, tokenLifetimeSeconds, ...others } = client
  const value: t.TypeOf<typeof clientCodec> = {
    v: 1,
    ...others,
    validUntilMs: Number.isFinite(validUntilMs) ? validUntilMs : null,
    mayIntrospect,
    ...(previousSecret !== undefined && { previousSecret }),
    ...(tokenLifetimeSeconds !== undefined && { tokenLifetimeSeconds }),
  }
  return JSON.stringify(value)
}

/** Undefined for a value that is damaged or of a later version. */
export const decodeClient = (clientId: string, text: string): StoredClient | undefined => {
  const value = either.chain((json: unknown) => clientCodec.decode(json))(parse(text))
  if (either.isLeft(value)) return undefined
  const { v: _version, validUntilMs, ...others } = value.right
  return { clientId, ...others, validUntilMs: validUntilMs ?? Infinity }
}

const revocationCodec = t.type({ v: t.literal(1), untilMs: instantMs })

export const encodeRevocation = (untilMs: number): string => JSON.stringify({ v: 1, untilMs })

/** When the revoked token has expired in any case. Undefined for a value that is damaged or of a later version. */
export const decodeRevocation = (text: string): number | undefined => {
  const value = either.chain((json: unknown) => revocationCodec.decode(json))(parse(text))
  return either.isLeft(value) ? undefined : value.right.untilMs
}

const parse = (text: string): either.Either<t.Errors, unknown> =>
  either.tryCatch(
    () => JSON.parse(text) as unknown,
    () => [],
  )
