import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { integer, nonEmptyText, oneOf, text } from '../../src/protocol/field-codecs.js'
import {
  decodeWith,
  messageCodec,
  optional,
  required,
  type Field,
  type Fields,
} from '../../src/protocol/message-codec.js'
import { refusalOf, rightOf } from './reader-laws.js'

interface Inner {
  readonly rateHz: number
}
interface Model {
  readonly token: string
  readonly inner: Inner
  readonly note?: string
}
const inner = messageCodec<Inner>('an object', { rateHz: required(integer(), 'Rate', 'rate') })
const model = (nameIndex: 0 | 1 = 0) =>
  messageCodec<Model>(
    'an object',
    {
      token: required(nonEmptyText(), 'Token', 'token', 'old-token'),
      inner: required(inner, 'Inner', 'inner'),
      note: optional(text, 'Note'),
    },
    nameIndex,
  )
const decode = (value: unknown) => decodeWith(model(), value)
const valid = { Token: 't', Inner: { Rate: 8000 } }

describe('messageCodec', () => {
  it('reads a field by any of its names, the first one first', () => {
    for (const name of ['Token', 'token', 'old-token']) {
      expect(rightOf(decode({ [name]: 'x', inner: { rate: '8000' } }))).toEqual({ token: 'x', inner: { rateHz: 8000 } })
    }
    expect(rightOf(decode({ 'old-token': 'c', token: 'b', ...valid })).token).toBe('t')
  })

  it('refuses a missing field by its first name, and an ill-typed one by the name it came under', () => {
    expect(refusalOf(decode({ Inner: { Rate: 1 } })).message).toBe('Token must be a string that is not empty.')
    expect(refusalOf(decode({ token: 5, Inner: { Rate: 1 } })).message).toBe(
      'token must be a string that is not empty.',
    )
    expect(refusalOf(decode({ Token: 't' })).message).toBe('Inner must be an object.')
    expect(refusalOf(decode({ Token: 't', inner: { rate: 'x' } })).message).toBe('inner.rate must be a whole number.')
    expect(refusalOf(decode({ ...valid, Note: null })).message).toBe('Note must be a string.')
    for (const value of [null, [], 'x', undefined]) {
      expect(refusalOf(decode(value))).toEqual({ code: 'invalid-field', message: 'The message must be an object.' })
    }
  })

  it('never says the value that it refuses', () => {
    for (const secret of ['very-secret', ['very-secret'], { 'very-secret': 1 }]) {
      for (const message of [
        { ...valid, Note: [secret] },
        { Token: [secret] },
        { Token: 't', Inner: { Rate: secret } },
      ]) {
        expect(refusalOf(decode(message)).message).not.toContain('secret')
      }
    }
  })

  it('leaves out what is undefined, and writes the names of its dialect or the first where it has no other', () => {
    const full: Model = { token: 't', inner: { rateHz: 1 }, note: 'n' }
    expect(model().encode(full)).toEqual({ Token: 't', Inner: { Rate: 1 }, Note: 'n' })
    expect(model(1).encode(full)).toEqual({ token: 't', inner: { Rate: 1 }, Note: 'n' })
    expect(Object.keys(model().encode({ token: 't', inner: { rateHz: 1 } }))).toEqual(['Token', 'Inner'])
  })

  it('decodes a model to own keys alone, whatever names the input has', () => {
    const decoded = rightOf(
      decode(JSON.parse('{"Token":"t","Inner":{"Rate":1},"__proto__":{"note":"x"},"constructor":1}')),
    )
    expect(Object.keys(decoded)).toEqual(['token', 'inner'])
    expect(decoded.note).toBeUndefined()
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype)
  })

  it('reads only own fields, not those of a prototype', () => {
    expect(refusalOf(decode(Object.create(valid))).message).toBe('Token must be a string that is not empty.')
    const odd = messageCodec<{ readonly field: string }>('an object', {
      field: required(text, 'toString', '__proto__'),
    })
    expect(refusalOf(decodeWith(odd, {})).message).toBe('toString must be a string.')
    expect(odd.is(Object.create({ field: 'x' }))).toBe(false)
  })

  it('knows its model', () => {
    const codec = model()
    expect(codec.is({ token: 't', inner: { rateHz: 1 } })).toBe(true)
    for (const value of [{ token: '', inner: { rateHz: 1 } }, { token: 't', inner: 5 }, { token: 't' }, null, []]) {
      expect(codec.is(value)).toBe(false)
    }
    expect(codec.is({ token: 't', inner: { rateHz: 1 }, note: 5 })).toBe(false)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (value, one, two) => {
        decode(value)
        decode({ Token: one, Inner: two })
        decode({ Token: 't', Inner: { Rate: one }, Note: two })
      }),
    )
  })
})

/** Checked by the compiler (`npm run typecheck`): an error that no longer comes is one itself. */
describe('Fields', () => {
  it('wants one field for every key of the model, optional ones too', () => {
    expectTypeOf<keyof Fields<Model>>().toEqualTypeOf<keyof Model>()
    // @ts-expect-error note is forgotten
    const forgotten: Fields<Model> = { token: required(text, 'a'), inner: required(inner, 'b') }
    expect(Object.keys(forgotten)).not.toContain('note')
  })

  it('wants a field to be optional exactly where the model is', () => {
    expectTypeOf<Fields<Model>['token']>().toEqualTypeOf<Field<string, true>>()
    expectTypeOf<Fields<Model>['note']>().toEqualTypeOf<Field<string, false>>()
    // @ts-expect-error the model must have the rate
    const missing: Fields<Inner> = { rateHz: optional(integer(), 'Rate') }
    expect(missing.rateHz.required).toBe(false)
  })

  it('wants the codec of the type of the key', () => {
    // @ts-expect-error a rate is a number
    const wrong: Fields<Inner> = { rateHz: required(text, 'Rate') }
    // @ts-expect-error a rate may be more than 1 and 2
    const narrow: Fields<Inner> = { rateHz: required(oneOf(1, 2), 'Rate') }
    expect([wrong.rateHz.names, narrow.rateHz.names]).toEqual([['Rate'], ['Rate']])
  })
})
