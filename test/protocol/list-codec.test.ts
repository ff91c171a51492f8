import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { integer, text } from '../../src/protocol/field-codecs.js'
import { listOf } from '../../src/protocol/list-codec.js'
import { decodeWith, messageCodec, required } from '../../src/protocol/message-codec.js'
import { refusalOf, rightOf } from './reader-laws.js'

interface Item {
  readonly name: string
  readonly count: number
}
const item = messageCodec<Item>('an object', { name: required(text, 'Name'), count: required(integer(), 'Count') })
const items = listOf(item)

describe('listOf', () => {
  it('decodes what it encoded', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ name: fc.string(), count: fc.maxSafeInteger() })), (list) => {
        expect(items.is(list)).toBe(true)
        expect(rightOf(decodeWith(items, items.encode(list)))).toEqual(list)
      }),
    )
  })

  it('refuses what is no list', () => {
    for (const value of [null, {}, 'a', 1, undefined, { length: 1 }]) {
      expect(refusalOf(decodeWith(items, value)).message).toBe('The message must be a list.')
    }
  })

  it('names the index and the field of the first item that does not fit', () => {
    const list = [{ Name: 'a', Count: 1 }, { Name: 'b', Count: 'secret' }, 5]
    expect(refusalOf(decodeWith(items, list)).message).toBe('1.Count must be a whole number.')
    expect(refusalOf(decodeWith(items, [5])).message).toBe('0 must be an object.')
  })

  it('knows a list that is not of its items', () => {
    expect([[{ name: 1, count: 1 }], 'a', null].some((value) => items.is(value))).toBe(false)
  })

  it('takes a list of 200 000 items in linear time', { timeout: 10_000 }, () => {
    const list = Array.from({ length: 200_000 }, (_, count) => ({ Name: 'a', Count: count }))
    expect(rightOf(decodeWith(items, list))).toHaveLength(200_000)
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), fc.array(fc.anything()), (value, list) => {
        decodeWith(items, value)
        decodeWith(items, list)
      }),
    )
  })
})
