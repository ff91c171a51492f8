import fc from 'fast-check'
import { either } from 'fp-ts'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  anything,
  confidenceText,
  integer,
  integerText,
  jsonObject,
  listOfText,
  nonEmptyText,
  oneOf,
  text,
  unitNumber,
  type FieldCodec,
} from '../../src/protocol/field-codecs.js'
import { anyText } from './arbitraries.js'
import { rightOf } from './reader-laws.js'

const refuses = <A>(codec: FieldCodec<A>, ...values: readonly unknown[]) => {
  for (const value of values) expect([value, codec.decode(value)._tag]).toEqual([value, 'Left'])
}

const keepsTheLaws = <A>(codec: FieldCodec<A>, values: fc.Arbitrary<A>) => {
  fc.assert(
    fc.property(values, (value) => {
      expect(codec.is(value)).toBe(true)
      expect(rightOf(codec.decode(codec.encode(value)))).toEqual(value)
    }),
  )
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const decoded = codec.decode(value)
      if (either.isRight(decoded)) expect(codec.is(decoded.right)).toBe(true)
    }),
  )
}

describe('integer', () => {
  it('keeps the laws of a codec', () => {
    keepsTheLaws(integer(), fc.maxSafeInteger())
  })

  it('takes whole numbers as strings', () => {
    for (const [given, value] of [
      ['8000', 8000],
      ['-1', -1],
      ['+5', 5],
      [' 7 ', 7],
      ['007', 7],
    ] as const) {
      expect(rightOf(integer().decode(given))).toBe(value)
    }
  })

  it('refuses everything else', () => {
    const numbers = [5.5, NaN, Infinity, 2 ** 53, '5.5', '1e3', '0x10', '9'.repeat(16)]
    refuses(integer(), ...numbers, '', ' ', '-', 'abc', '1 2', true, null, undefined, [], [1], {})
  })

  it('keeps to its bounds, in either form', () => {
    const rate = integer('a rate', 8000, 48000)
    expect([8000, '48000'].map((value) => rightOf(rate.decode(value)))).toEqual([8000, 48000])
    refuses(rate, 7999, '7999', 48001, '48001', -8000)
  })
})

describe('integerText', () => {
  it('keeps the laws of a codec and writes strings', () => {
    keepsTheLaws(integerText, fc.maxSafeInteger())
    expect(integerText.encode(-1200)).toBe('-1200')
  })

  it('takes the number itself too and refuses the rest', () => {
    expect(rightOf(integerText.decode(1200))).toBe(1200)
    refuses(integerText, '1.5', 1.5, '', 'abc', null, true, [])
  })
})

describe('confidenceText', () => {
  it('keeps the laws of a codec for what two decimals can say', () => {
    keepsTheLaws(
      confidenceText,
      fc.integer({ min: 0, max: 100 }).map((hundredths) => hundredths / 100),
    )
  })

  it('writes two decimals, from 0.00 to 1.00', () => {
    expect([0, 0.5, 0.876, 0.999, 1].map(confidenceText.encode)).toEqual(['0.00', '0.50', '0.88', '1.00', '1.00'])
  })

  it('takes what other services write', () => {
    for (const given of ['0.0', '1', '1.0', '0.87654321', '9.5e-1', '1e-100', ' 0.5 ', 0.25]) {
      expect(rightOf(confidenceText.decode(given))).toBe(Number(given))
    }
  })

  it('refuses what is no number from 0 to 1', () => {
    refuses(confidenceText, '1.01', '-0.1', '', ' ', 'high', '0,5', '0x1', 'Infinity', 'NaN', 2, NaN, null, true, [])
  })
})

describe('unitNumber', () => {
  it('keeps the laws of a codec and takes no strings', () => {
    keepsTheLaws(unitNumber, fc.double({ min: 0, max: 1, noNaN: true }))
    refuses(unitNumber, '0.5', -0.1, 1.1, NaN, null, true)
  })
})

describe('text and nonEmptyText', () => {
  it('keep the laws of a codec', () => {
    keepsTheLaws(text, anyText)
    keepsTheLaws(nonEmptyText(), fc.string({ minLength: 1 }))
  })

  it('refuse what is no string, and the empty one where it must not be', () => {
    refuses(text, 5, true, null, undefined, [], ['a'], {})
    refuses(nonEmptyText(), '', 5, null)
  })
})

describe('oneOf', () => {
  it('keeps the laws of a codec and says what it expects', () => {
    keepsTheLaws(oneOf('pcm', 'ulaw', 'alaw'), fc.constantFrom('pcm', 'ulaw', 'alaw'))
    expect([oneOf('pcm', 'ulaw', 'alaw').name, oneOf(1, 2).name, oneOf('pcm').name]).toEqual([
      '"pcm", "ulaw" or "alaw"',
      '1 or 2',
      '"pcm"',
    ])
    expectTypeOf(oneOf(1, 2)).toEqualTypeOf<FieldCodec<1 | 2>>()
  })

  it('takes numbers as strings, and no other form of them', () => {
    expect(rightOf(oneOf(1, 2).decode('2'))).toBe(2)
    refuses(oneOf(1, 2), 0, 3, '3', '01', 1.5, true, [1], null, undefined)
  })

  it('refuses inherited names and other letter cases', () => {
    refuses(oneOf('pcm', 'ulaw'), 'PCM', 'constructor', '__proto__', '')
  })
})

describe('listOfText, anything and jsonObject', () => {
  it('keep the laws of a codec', () => {
    keepsTheLaws(listOfText, fc.array(anyText))
    keepsTheLaws(jsonObject, fc.dictionary(fc.string(), fc.jsonValue()))
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(rightOf(anything.decode(value))).toBe(value)
      }),
    )
  })

  it('refuse what is no list of strings, or no object', () => {
    refuses(listOfText, 'a', [1], ['a', null], {}, null)
    refuses(jsonObject, [], null, 'a', 1, true)
  })
})
