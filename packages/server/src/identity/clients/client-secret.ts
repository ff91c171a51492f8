import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** The cost of scrypt (RFC 7914): 16 MiB and about 40 ms. For issued secrets of 256 random bits more gains nothing. */
const cost = { N: 16_384, r: 8, p: 1 } as const
const saltBytes = 16
const hashBytes = 32

/** The shortest secret that cannot be guessed. */
export const minSecretLength = 16

interface SecretHash {
  readonly N: number
  readonly r: number
  readonly p: number
  readonly salt: Buffer
  readonly hash: Buffer
}

/** `scrypt$N$r$p$salt$hash`, both in base64url. The bounds limit the memory that a forged file can cost. */
const parse = (text: string): SecretHash | undefined => {
  const found = /^scrypt\$(\d{1,6})\$(\d{1,2})\$(\d)\$([\w-]{16,86})\$([\w-]{43})$/.exec(text)
  if (found === null) return undefined
  const [, N = '', r = '', p = '', salt = '', hash = ''] = found
  const parsed = { N: Number(N), r: Number(r), p: Number(p) }
  const isPowerOf2 = parsed.N > 1 && (parsed.N & (parsed.N - 1)) === 0
  // RFC 7914 section 2 requires N below 2^(128 r / 8), which only r = 1 can break here.
  const isAllowed = parsed.N <= 131_072 && parsed.N < 2 ** (16 * parsed.r) && parsed.r <= 16
  if (!isPowerOf2 || !isAllowed || parsed.p < 1 || parsed.p > 4) return undefined
  return { ...parsed, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}

const format = ({ N, r, p, salt, hash }: SecretHash): string =>
  ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')

/** Runs scrypt on a thread of the pool, so that audio keeps flowing. `maxmem` is the amount that OpenSSL requires. */
const derive = (secret: string, { N, r, p, salt }: Omit<SecretHash, 'hash'>): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const maxmem = 128 * r * (N + p + 2) + 1
    scrypt(secret, salt, hashBytes, { N, r, p, maxmem }, (error, hash) => {
      if (error === null) resolve(hash)
      else reject(error)
    })
  })

/** RFC 6749 appendix A.2 has no control characters. scrypt pads its key with NUL, so it ignores a NUL at the end. */
const hasControlCharacter = (secret: string): boolean => /\p{Cc}/u.test(secret)

/**
 * The hash of a client secret for `ClientRegistration.secretHash`: scrypt with a random salt. The hash of a rotated
 * secret takes the salt of the `previous` hash, so that one derivation verifies both. Rejects with `invalid-options`
 * for a secret with control characters.
 *
 * @example
 * const secretHash = await hashSecret(clientSecret)
 */
export const hashSecret = async (secret: string, previous?: string): Promise<string> => {
  if (hasControlCharacter(secret)) {
    throw new SpeechError('invalid-options', 'A client secret must not have control characters.')
  }
  const salted = (previous === undefined ? undefined : parse(previous)) ?? { ...cost, salt: randomBytes(saltBytes) }
  return format({ ...salted, hash: await derive(secret, salted) })
}

/** Whether the text has the form of a hash from `hashSecret`. */
export const isSecretHash = (text: unknown): text is string => typeof text === 'string' && parse(text) !== undefined

const isSameSalt = (a: SecretHash, b: SecretHash): boolean =>
  a.N === b.N && a.r === b.r && a.p === b.p && a.salt.equals(b.salt)

/**
 * Whether the secret belongs to the hash or to the previous hash, compared in constant time. False for a malformed
 * hash, and, at the same cost, for a secret with control characters.
 */
export const verifySecret = async (secret: string, secretHash: string, previousHash?: string): Promise<boolean> => {
  const expected = parse(secretHash)
  if (expected === undefined) return false
  const derived = await derive(secret, expected)
  const previous = previousHash === undefined ? undefined : parse(previousHash)
  const derivedForPrevious =
    previous !== undefined && !isSameSalt(expected, previous) ? await derive(secret, previous) : derived
  const isCurrent = timingSafeEqual(derived, expected.hash)
  const isPrevious = timingSafeEqual(derivedForPrevious, (previous ?? expected).hash)
  return (isCurrent || isPrevious) && !hasControlCharacter(secret)
}

/** A hash without a known secret. Unknown clients are checked against it, so that they cost the same as known ones. */
export const unmatchableHash = (): string =>
  format({ ...cost, salt: randomBytes(saltBytes), hash: randomBytes(hashBytes) })

/**
 * A new client id: 128 random bits, base64url; never with a `-` first, which a command line takes for a flag.
 *
 * @example
 * const clientId = newClientId() // 22 characters
 */
export const newClientId = (): string => {
  const id = randomBytes(16).toString('base64url')
  return id.startsWith('-') ? newClientId() : id
}

/**
 * A new client secret: 256 random bits, base64url. Shown once; only its hash is stored.
 *
 * @example
 * const clientSecret = newClientSecret() // 43 characters
 */
export const newClientSecret = (): string => randomBytes(32).toString('base64url')
