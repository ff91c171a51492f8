import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeWith } from '../../src/protocol/message-codec.js'
import { settings } from '../../src/protocol/settings.js'
import { settings as anySettings } from './arbitraries.js'
import { refusalOf, rightOf } from './reader-laws.js'

const decode = (value: unknown) => decodeWith(settings, value)

describe('settings', () => {
  it('decodes what it encoded', () => {
    fc.assert(
      fc.property(anySettings, (value) => {
        expect(settings.is(value)).toBe(true)
        expect(rightOf(decode(settings.encode(value)))).toEqual(value)
      }),
    )
  })

  it('takes primitives and lists of them', () => {
    const value = { ModelName: 'English', Threshold: 0.5, Debug: true, ChannelTags: ['agent', 'customer'], None: [] }
    expect(rightOf(decode(value))).toEqual(value)
  })

  it('refuses nested objects, null and what is no object', () => {
    for (const value of [
      { a: {} },
      { a: null },
      { a: [['x']] },
      { a: [null] },
      { a: Infinity },
      [],
      null,
      'x',
      5.5,
      true,
    ]) {
      const { code, message } = refusalOf(decode(value))
      expect(code).toBe('invalid-field')
      expect(message).toContain('an object of strings, numbers, booleans and lists of them')
    }
  })

  it('drops __proto__, so that merging by assignment sets no prototype', () => {
    for (const value of ['["x"]', '"x"', '{"length":1}']) {
      const decoded = rightOf(decode(JSON.parse(`{"a":1,"__proto__":${value}}`)))
      expect(Object.keys(decoded)).toEqual(['a'])
      expect(settings.is(JSON.parse(`{"__proto__":${value}}`))).toBe(false)
      const merged = Object.assign({}, decoded)
      expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
    }
  })

  it('keeps other inherited names as plain settings', () => {
    const value = { constructor: 'x', toString: 'y' }
    expect(rightOf(decode(value))).toEqual(value)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        decode(value)
      }),
    )
  })
})
