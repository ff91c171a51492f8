import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { masked, SecretMask } from '../../src/errors/secret-mask.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import { runs } from '../thorough.js'

const secret = 'S3cr3t/with+all=kinds&of "chars" \\ and ümläut'
const token = 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJhY21lIiwiZXhwIjoxfQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ'
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const htmlOf = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll("'", '&#39;')
const asForm = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)

const spellings: readonly (readonly [string, (text: string) => string])[] = [
  ['as it is', (text) => text],
  ['percent-encoded', encodeURIComponent],
  [
    'percent-encoded in small letters',
    (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  ],
  ['percent-encoded twice', (text) => encodeURIComponent(encodeURIComponent(text))],
  ['as a field of a form', asForm],
  ['in JSON', (text) => JSON.stringify(text).slice(1, -1)],
  ['in JSON with escaped slashes', (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/')],
  ['in JSON within JSON', (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3)],
  ['in HTML', htmlOf],
  ['in base64', base64],
  ['in base64 of addresses', (text) => Buffer.from(text).toString('base64url')],
  ['in HTTP Basic', (text) => base64(`client:${text}`)],
  ['in HTTP Basic with a longer name', (text) => base64(`client-1:${text}`)],
  ['in HTTP Basic, percent-encoded', (text) => base64(`client-12:${encodeURIComponent(text)}`)],
]

describe('a mask of secrets', () => {
  it.each(spellings)('finds a secret %s', (how, spelled) => {
    const hidden = how === 'in HTTP Basic, percent-encoded' ? [secret, encodeURIComponent(secret)] : [secret]
    const mask = new SecretMask(hidden)
    const text = `You sent <${spelled(secret)}> to us.`
    expect(mask.isIn(text)).toBe(true)
    const cleaned = mask.clean(text)
    expect(cleaned).toMatch(/^You sent <\S*\*\*\*> to us\.$/)
    expect(Buffer.from(cleaned.slice(10), 'base64').toString()).not.toContain('cr3t')
  })

  it('finds a secret with any characters encoded, in any way, at any position', () => {
    const each = (character: string): fc.Arbitrary<string> => {
      const hex = (character.codePointAt(0) ?? 0).toString(16)
      return fc.constantFrom(
        character,
        encodeURIComponent(character),
        ...(character <= '\x7f' ? [`%${hex.padStart(2, '0')}`, `%25${hex.padStart(2, '0').toUpperCase()}`] : []),
        ...Array.from({ length: 1 }, () => `\\u${hex.padStart(4, '0')}`),
        `\\\\u${hex.padStart(4, '0').toUpperCase()}`,
        `&#${character.codePointAt(0)};`,
        `&#x${hex};`,
      )
    }
    // A backslash that is part of a secret may belong to the character behind it; the spellings above have one.
    // A backslash that is part of a secret may belong to the character behind it; the spellings above have one.
    const ascii = fc
      .string({ minLength: 6, maxLength: 40, unit: 'grapheme-ascii' })
      .filter((text) => !/^\s|\s$|\\/.test(text))
    const spelled = ascii.chain((hidden) =>
      fc.tuple(
        fc.constant(hidden),
        fc.tuple(...Array.from(hidden, each)).map((parts) => parts.join('')),
      ),
    )
    fc.assert(
      fc.property(
        spelled,
        fc.constantFrom('', ' ', 'Token: ', '{"a":"'),
        fc.constantFrom('', '"}', ' was refused.'),
        ([hidden, text], before, after) => {
          const cleaned = new SecretMask([hidden]).clean(before + text + after)
          expect(cleaned).toBe(before + masked + after)
        },
      ),
      { numRuns: runs(200) },
    )
  })

  it('leaves text without a secret unchanged, and reports that', () => {
    const texts = fc.string({ maxLength: 200 }).filter((text) => !text.includes(token.slice(0, 8)))
    const mask = new SecretMask([token])
    fc.assert(
      fc.property(texts, (text) => {
        expect(mask.clean(text)).toBe(text)
      }),
    )
    expect(mask.isIn('{"message-name":"partial-result","text":"that works for us"}')).toBe(false)
    expect(new SecretMask().isIn('%41\\u0042&amp;')).toBe(false)
    expect(mask.isIn('%41\\u0042&amp;')).toBe(false)
  })

  it('finds a secret that is cut off after its beginning, and leaves another token of the same issuer', () => {
    const mask = new SecretMask([token])
    for (const length of [16, 30, 60, token.length - 1]) {
      for (const end of ['', '.', '...', '…', ' is none.', '"']) {
        expect(mask.clean(`Refused: ${token.slice(0, length)}${end}`)).toBe(`Refused: ***${end}`)
      }
    }
    const other = `${token.slice(0, 41)}eyJzdWIiOiJvdGhlciJ9.YW5vdGhlciBzaWduYXR1cmU`
    expect(mask.clean(`{"link":"https://x.example/${other}"}`)).toBe(`{"link":"https://x.example/${other}"}`)
    expect(mask.clean(`${other} ${token} ${other}`)).toBe(`${other} *** ${other}`)
  })

  it('turns JSON text into text that is still JSON', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6, maxLength: 30, unit: 'grapheme-ascii' }), fc.string(), (hidden, beside) => {
        const text = JSON.stringify({ a: `${beside} ${hidden} `, [hidden]: 1 })
        expect(() => JSON.parse(new SecretMask([hidden]).clean(text)) as unknown).not.toThrow()
      }),
      { numRuns: runs(100) },
    )
  })

  it('masks texts and names at any depth, except bytes', () => {
    const bytes = new Uint8Array([1])
    const mask = new SecretMask([token])
    const value = { a: [`x ${token}`, { [token]: 1 }], b: null, c: 2, bytes }
    expect(mask.cleanAll(value)).toEqual({ a: ['x ***', { '***': 1 }], b: null, c: 2, bytes })
  })

  it('masks an error and its causes, keeps the other properties, and passes on one without a secret', () => {
    const mask = new SecretMask([token])
    const inner = Object.assign(new Error(`no ${token}`), { code: 'ECONNRESET', packet: token })
    const error = new SpeechError('overloaded', 'Full.', { retryAfterMs: 7, cause: new Error('why', { cause: inner }) })
    const clean = mask.cleanError(error)
    expect(clean).toMatchObject({ code: 'overloaded', message: 'Full.', retryable: true, retryAfterMs: 7 })
    const cause = (clean.cause as Error).cause as Error
    expect(cause).toMatchObject({ message: 'no ***', code: 'ECONNRESET' })
    expect([cause.stack?.includes(token), 'packet' in cause]).toEqual([false, false])
    const plain = new SpeechError('overloaded', 'Full.', { cause: new Error('why') })
    expect(mask.cleanError(plain)).toBe(plain)
  })

  it('ignores secrets shorter than an ordinary word, and all but the last eight', () => {
    const mask = new SecretMask(['abc', ...Array.from({ length: 9 }, (_, index) => `secret-number-${index}`)])
    expect(mask.clean('abc secret-number-0 secret-number-8')).toBe('abc secret-number-0 ***')
  })

  it('reads the longest message quickly, whatever its content', () => {
    const mask = new SecretMask([secret, token])
    const mebibyte = 1024 * 1024
    for (const part of ['\\', '%', '%25', '&#0', 'S3cr3t', token.slice(0, 30), '\\u0', 'U3Nj']) {
      const startMs = performance.now()
      mask.clean(part.repeat(mebibyte / part.length))
      // Some 20 ms each; what grows with the square of the length would take hours.
      expect(performance.now() - startMs).toBeLessThan(10_000)
    }
  })
})
