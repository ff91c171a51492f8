import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isJsonObject } from '../../src/protocol/json-object.js'
import { ownValue, parseJsonObject } from '../../src/protocol/parse-json.js'
import { refusalOf, rightOf } from './reader-laws.js'

describe('parseJsonObject', () => {
  it('reads every JSON object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const json = JSON.stringify(object)
        expect(rightOf(parseJsonObject(json))).toEqual(JSON.parse(json))
      }),
    )
  })

  it('rejects JSON that is not an object, and text that is not JSON, without repeating it', () => {
    for (const json of ['null', '1', '"secret"', 'true', '[]', '[{"a":1}]', '', 'secret', '{"secret":', '\uFEFF{}']) {
      const { code, message } = refusalOf(parseJsonObject(json))
      expect(code).toBe('invalid-json')
      expect(message).not.toContain('secret')
    }
  })
})

describe('isJsonObject', () => {
  it('distinguishes objects from lists, null and other values', () => {
    expect([{}, Object.create(null)].every(isJsonObject)).toBe(true)
    expect([null, undefined, [], 1, '', true, () => 1].some(isJsonObject)).toBe(false)
  })
})

describe('ownValue', () => {
  it('returns own values, including __proto__ as plain data', () => {
    const object = rightOf(parseJsonObject('{"a":1,"__proto__":2}'))
    expect([ownValue(object, 'a'), ownValue(object, '__proto__')]).toEqual([1, 2])
  })

  it('returns undefined for inherited names', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) expect(ownValue({}, name)).toBeUndefined()
  })
})
