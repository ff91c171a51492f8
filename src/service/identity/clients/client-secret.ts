import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { SpeechError } from '../../../errors/speech-error.js'

/** The cost of RFC 7914 scrypt: 16 MiB and some 40 ms. Issued secrets have 256 random bits, so more would buy nothing. */
const cost = { N: 16_384, r: 8, p: 1 } as const
const saltBytes = 16
const hashBytes = 32

interface SecretHash {
  readonly N: number
  readonly r: number
  readonly p: number
  readonly salt: Buffer
  readonly hash: Buffer
}

/** `scrypt$N$r$p$salt$hash`, both in base64url. The bounds keep a forged file from eating the memory. */
const parse = (text: string): SecretHash | undefined => {
  const found = /^scrypt\$(\d{1,6})\$(\d{1,2})\$(\d)\$([\w-]{16,86})\$([\w-]{43})$/.exec(text)
  if (found === null) return undefined
  const [, N = '', r = '', p = '', salt = '', hash = ''] = found
  const parsed = { N: Number(N), r: Number(r), p: Number(p) }
  const isPowerOf2 = parsed.N > 1 && (parsed.N & (parsed.N - 1)) === 0
  // RFC 7914 section 2 wants N below 2^(128 r / 8), which only r = 1 can break here.
  const isAllowed = parsed.N <= 131_072 && parsed.N < 2 ** (16 * parsed.r) && parsed.r <= 16
  if (!isPowerOf2 || !isAllowed || parsed.p < 1 || parsed.p > 4) return undefined
  return { ...parsed, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}

const format = ({ N, r, p, salt, hash }: SecretHash): string =>
  ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')

/** scrypt on a thread of the pool, so that audio goes on flowing meanwhile. `maxmem` is what OpenSSL says it needs. */
const derive = (secret: string, { N, r, p, salt }: Omit<SecretHash, 'hash'>): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const maxmem = 128 * r * (N + p + 2) + 1
    scrypt(secret, salt, hashBytes, { N, r, p, maxmem }, (error, hash) => {
      if (error === null) resolve(hash)
      else reject(error)
    })
  })

/** RFC 6749 appendix A.2 has no control characters; to scrypt, which fills its key up with NUL, a NUL at the end is nothing. */
const hasControlCharacter = (secret: string): boolean => /\p{Cc}/u.test(secret)

/**
 * The hash of a client secret for `Subscription.secretHash`: scrypt with a salt of its own. The hash of the secret that
 * follows another takes over its salt, so that one derivation tells for both. Throws `invalid-options` for a secret with
 * control characters.
 */
export const hashSecret = async (secret: string, follows?: string): Promise<string> => {
  if (hasControlCharacter(secret)) {
    throw new SpeechError('invalid-options', 'A client secret must not hold control characters.')
  }
  const salted = (follows === undefined ? undefined : parse(follows)) ?? { ...cost, salt: randomBytes(saltBytes) }
  return format({ ...salted, hash: await derive(secret, salted) })
}

/** True for a text that `hashSecret` can have made. */
export const isSecretHash = (text: unknown): text is string => typeof text === 'string' && parse(text) !== undefined

const sameSalt = (one: SecretHash, other: SecretHash): boolean =>
  one.N === other.N && one.r === other.r && one.p === other.p && one.salt.equals(other.salt)

/**
 * Whether the secret is the one that was hashed, or that of the hash before it; compared in constant time. False for a
 * malformed hash, and, at the same cost, for a secret with control characters.
 */
export const verifySecret = async (secret: string, secretHash: string, previousHash?: string): Promise<boolean> => {
  const expected = parse(secretHash)
  if (expected === undefined) return false
  const derived = await derive(secret, expected)
  const previous = previousHash === undefined ? undefined : parse(previousHash)
  const ofBefore = previous !== undefined && !sameSalt(expected, previous) ? await derive(secret, previous) : derived
  const isOne = timingSafeEqual(derived, expected.hash)
  const isOther = timingSafeEqual(ofBefore, (previous ?? expected).hash)
  return (isOne || isOther) && !hasControlCharacter(secret)
}

/** A hash that no known secret has; an unknown client is checked against it, so that it costs what a known one costs. */
export const unmatchableHash = (): string =>
  format({ ...cost, salt: randomBytes(saltBytes), hash: randomBytes(hashBytes) })

/** A new client id: 128 random bits, base64url. */
export const newClientId = (): string => randomBytes(16).toString('base64url')

/** A new client secret: 256 random bits, base64url. Shown once to the subscriber; only its hash is kept. */
export const newClientSecret = (): string => randomBytes(32).toString('base64url')
