import fc from 'fast-check'
import { either } from 'fp-ts'
import { expect, it } from 'vitest'
import { isErrorCode } from '../../src/errors/error-table.js'
import { isSpeechError } from '../../src/errors/speech-error.js'
import { isJsonObject } from '../../src/protocol/json-object.js'
import { runs } from '../thorough.js'

/** A reader of text messages and the writer of the other side. */
export interface Reader<Message> {
  readonly read: (json: string) => either.Either<unknown, Message>
  readonly write: (message: Message) => string
  readonly messages: fc.Arbitrary<Message>
}

/** Returns the decoded message; fails the test when it was rejected. */
export const rightOf = <A>(result: either.Either<unknown, A>): A => {
  if (either.isLeft(result)) throw new Error(`refused: ${JSON.stringify(result.left)}`)
  return result.right
}

/** Returns the refusal; fails the test when there is none, or when it is not a `SpeechError` of the table. */
export const refusalOf = (result: either.Either<unknown, unknown>): { code: string; message: string } => {
  if (either.isRight(result)) throw new Error(`not refused: ${JSON.stringify(result.right)}`)
  const { left } = result
  const error: unknown = isSpeechError(left) ? left : isJsonObject(left) ? left['error'] : undefined
  if (!isSpeechError(error)) throw new Error('refused with something that is no SpeechError')
  expect(isErrorCode(error.code)).toBe(true)
  return { code: error.code, message: error.message }
}

/** Replaces one value of a valid message, at the top level or one level below, by any JSON value. */
const withJunkInside = (json: string): fc.Arbitrary<string> => {
  const object = JSON.parse(json) as Record<string, unknown>
  const places = Object.entries(object).flatMap(([name, value]) => [
    [name],
    ...(isJsonObject(value) ? Object.keys(value).map((inner) => [name, inner]) : []),
  ])
  return fc.tuple(fc.constantFrom(...places), fc.jsonValue()).map(([[outer = '', inner], junk]) => {
    const within = object[outer]
    const value = inner !== undefined && isJsonObject(within) ? { ...within, [inner]: junk } : junk
    return JSON.stringify({ ...object, [outer]: value })
  })
}

/** Damages the text of a valid message: cuts it, doubles a part, or inserts something. */
const damaged = (json: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(json.length), fc.nat(json.length), fc.string({ maxLength: 3 }))
    .map(([from, to, insert]) => json.slice(0, from) + insert + json.slice(to))

/** Any value as text, if it has a text form. */
const textOf = (value: unknown): string => {
  try {
    return String(value)
  } catch {
    return 'none'
  }
}

/** Names that every object inherits, or that set a prototype. */
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']

/** The laws of every reader: it reads what was written; anything else becomes a refusal; nothing throws. */
export const keepsTheLawsOfAReader = <Message>({ read, write, messages }: Reader<Message>): void => {
  it('reads every message that it wrote', () => {
    fc.assert(
      fc.property(messages, (message) => {
        expect(rightOf(read(write(message)))).toEqual(message)
      }),
    )
  })

  it('ignores unknown fields, including inherited names', () => {
    const name = fc.oneof(
      fc.constantFrom(...inherited),
      fc.string().map((value) => `x-${value}`),
    )
    fc.assert(
      fc.property(messages, name, fc.jsonValue(), (message, extra, value) => {
        const json = write(message)
        const more = `{${JSON.stringify(extra)}:${JSON.stringify(value)},${json.slice(1)}`
        expect(rightOf(read(more))).toEqual(message)
        expect(Object.keys(Object.prototype)).toEqual([])
      }),
    )
  })

  it('answers junk with a refusal of the error table and never throws', () => {
    const junk = fc.oneof(fc.string(), fc.json(), fc.anything().map(textOf), fc.constant('{}'))
    fc.assert(
      fc.property(junk, (text) => {
        refusalOf(read(text))
      }),
    )
  })

  it('never throws on a damaged message, and what it reads can be written and read again', () => {
    const broken = messages.map(write).chain((json) => fc.oneof(damaged(json), withJunkInside(json)))
    fc.assert(
      fc.property(broken, (text) => {
        const result = read(text)
        if (either.isLeft(result)) refusalOf(result)
        else expect(write(rightOf(read(write(result.right))))).toBe(write(result.right))
      }),
      { numRuns: 300 },
    )
  })

  it('rejects values that are not strings, as a JavaScript caller may pass them', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        fc.pre(typeof value !== 'string')
        const result = (read as (value: unknown) => either.Either<unknown, Message>)(value)
        if (either.isLeft(result)) refusalOf(result)
      }),
    )
  })

  it('reads no field from a modified prototype', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const json = JSON.parse(write(message)) as Record<string, unknown>
        const names = Object.keys(json)
        let result: either.Either<unknown, Message>
        for (const name of names)
          Object.defineProperty(Object.prototype, name, { value: json[name], configurable: true })
        try {
          result = read('{}')
        } finally {
          for (const name of names) Reflect.deleteProperty(Object.prototype, name)
        }
        refusalOf(result)
      }),
      // Few runs: a modified prototype makes V8 discard much of its compiled code.
      { numRuns: runs(60) },
    )
  })

  it('reads text nested 100 000 deep, or with 100 000 fields, in linear time', { timeout: 10_000 }, () => {
    refusalOf(read('['.repeat(100_000)))
    refusalOf(read('{"a":'.repeat(100_000)))
    refusalOf(read(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`))
    refusalOf(
      read(JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`f${index}`, index])))),
    )
  })
}
