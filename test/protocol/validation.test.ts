import fc from 'fast-check'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { listOf, recordOf } from '../../src/protocol/collections.js'
import {
  anything,
  checkOption,
  checkOptions,
  durationMs,
  eitherOf,
  functionValue,
  issuesOf,
  issueText,
  jsonObject,
  nonEmptyText,
  number,
  objectWith,
  oneOf,
  optionsCodec,
  text,
  wholeNumber,
  type Codec,
} from '../../src/protocol/validation.js'
import {
  confidenceText,
  decodeWith,
  integer,
  integerText,
  messageCodec,
  oneOfNumbers,
  required,
  unitNumber,
} from '../../src/protocol/message-codec.js'
import { anyText } from './arbitraries.js'
import { refusalOf, rightOf } from './reader-laws.js'

const refuses = <A>(codec: Codec<A>, ...values: readonly unknown[]) => {
  for (const value of values) expect([value, codec.decode(value)._tag]).toEqual([value, 'Left'])
}

/** The problems of a value, as sentences. */
const messages = <A>(codec: Codec<A>, value: unknown): readonly string[] => {
  const decoded = codec.decode(value)
  return either.isRight(decoded) ? [] : issuesOf(decoded.left).map((issue) => issueText(issue, 'The value'))
}

const keepsTheLaws = <A>(codec: Codec<A>, values: fc.Arbitrary<A>) => {
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

  it('accepts whole numbers as strings', () => {
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

  it('rejects everything else', () => {
    const numbers = [5.5, NaN, Infinity, 2 ** 53, '5.5', '1e3', '0x10', '9'.repeat(16)]
    refuses(integer(), ...numbers, '', ' ', '-', 'abc', '1 2', true, null, undefined, [], [1], {})
  })

  it('keeps to its bounds, in either form', () => {
    const rate = integer({ min: 8000, max: 48000 })
    expect([8000, '48000'].map((value) => rightOf(rate.decode(value)))).toEqual([8000, 48000])
    refuses(rate, 7999, '7999', 48001, '48001', -8000)
  })
})

describe('integerText', () => {
  it('keeps the laws of a codec and writes strings', () => {
    keepsTheLaws(integerText, fc.maxSafeInteger())
    expect(integerText.encode(-1200)).toBe('-1200')
  })

  it('accepts numbers and rejects the rest', () => {
    expect(rightOf(integerText.decode(1200))).toBe(1200)
    refuses(integerText, '1.5', 1.5, '', 'abc', null, true, [])
  })
})

describe('confidenceText', () => {
  it('keeps the laws of a codec for values with two decimals', () => {
    keepsTheLaws(
      confidenceText,
      fc.integer({ min: 0, max: 100 }).map((hundredths) => hundredths / 100),
    )
  })

  it('writes two decimals, from 0.00 to 1.00', () => {
    expect([0, 0.5, 0.876, 0.999, 1].map(confidenceText.encode)).toEqual(['0.00', '0.50', '0.88', '1.00', '1.00'])
  })

  it('accepts what other services write', () => {
    for (const given of ['0.0', '1', '1.0', '0.87654321', '9.5e-1', '1e-100', ' 0.5 ', 0.25]) {
      expect(rightOf(confidenceText.decode(given))).toBe(Number(given))
    }
  })

  it('rejects values that are not numbers from 0 to 1', () => {
    refuses(confidenceText, '1.01', '-0.1', '', ' ', 'high', '0,5', '0x1', 'Infinity', 'NaN', 2, NaN, null, true, [])
  })
})

describe('unitNumber', () => {
  it('keeps the laws of a codec and accepts no strings', () => {
    keepsTheLaws(unitNumber, fc.double({ min: 0, max: 1, noNaN: true }))
    refuses(unitNumber, '0.5', -0.1, 1.1, NaN, null, true)
  })
})

describe('text and nonEmptyText', () => {
  it('keep the laws of a codec', () => {
    keepsTheLaws(text, anyText)
    keepsTheLaws(nonEmptyText, fc.string({ minLength: 1 }))
  })

  it('reject values that are not strings, and the empty string where it is not allowed', () => {
    refuses(text, 5, true, null, undefined, [], ['a'], {})
    refuses(nonEmptyText, '', 5, null)
  })
})

describe('oneOf', () => {
  it('keeps the laws of a codec and states what it expects', () => {
    keepsTheLaws(oneOf('pcm', 'ulaw', 'alaw'), fc.constantFrom('pcm', 'ulaw', 'alaw'))
    expect([oneOf('pcm', 'ulaw', 'alaw').name, oneOfNumbers(1, 2).name, oneOf('pcm').name]).toEqual([
      '"pcm", "ulaw" or "alaw"',
      '1 or 2',
      '"pcm"',
    ])
    expectTypeOf(oneOfNumbers(1, 2)).toEqualTypeOf<Codec<1 | 2>>()
  })

  it('accepts numbers as strings, and no other form', () => {
    expect(rightOf(oneOfNumbers(1, 2).decode('2'))).toBe(2)
    refuses(oneOfNumbers(1, 2), 0, 3, '3', '01', 1.5, true, [1], null, undefined)
  })

  it('rejects inherited names and other letter cases', () => {
    refuses(oneOf('pcm', 'ulaw'), 'PCM', 'constructor', '__proto__', '')
  })
})

describe('listOf, anything and jsonObject', () => {
  it('keep the laws of a codec', () => {
    keepsTheLaws(listOf(text), fc.array(anyText))
    keepsTheLaws(jsonObject, fc.dictionary(fc.string(), fc.jsonValue()))
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(rightOf(anything.decode(value))).toBe(value)
      }),
    )
  })

  it('reject values that are not lists of strings, or not objects', () => {
    refuses(listOf(text), 'a', [1], ['a', null], {}, null)
    refuses(jsonObject, [], null, 'a', 1, true)
  })
})

interface Item {
  readonly name: string
  readonly count: number
}
const item = messageCodec<Item>({ name: required(text, 'Name'), count: required(integer(), 'Count') })
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

  it('rejects values that are not lists', () => {
    for (const value of [null, {}, 'a', 1, undefined, { length: 1 }]) {
      expect(refusalOf(decodeWith(items, value)).message).toBe('The message must be a list, each an object.')
    }
  })

  it('names the index and the field of the first item that does not fit', () => {
    const list = [{ Name: 'a', Count: 1 }, { Name: 'b', Count: 'secret' }, 5]
    expect(refusalOf(decodeWith(items, list)).message).toBe('1.Count must be a whole number.')
    expect(refusalOf(decodeWith(items, [5])).message).toBe('0 must be an object.')
  })

  it('recognizes a list of other items', () => {
    expect([[{ name: 1, count: 1 }], 'a', null].some((value) => items.is(value))).toBe(false)
  })

  it('reads a list of 200 000 items in linear time', { timeout: 10_000 }, () => {
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

describe('wholeNumber, number and durationMs', () => {
  it('name their bounds and their unit', () => {
    expect([
      wholeNumber().name,
      wholeNumber({ min: 1 }).name,
      wholeNumber({ max: 9, unit: 'Hz' }).name,
      number({ min: 0, max: 1.5 }).name,
      durationMs(1).name,
    ]).toEqual([
      'a whole number',
      'a whole number from 1',
      'a whole number of Hz up to 9',
      'a number from 0 to 1.5',
      'a whole number from 1 to 2147483647',
    ])
  })

  it('accept no strings, and keep to their bounds', () => {
    keepsTheLaws(wholeNumber({ min: -3, max: 5 }), fc.integer({ min: -3, max: 5 }))
    refuses(wholeNumber({ min: -3, max: 5 }), -4, 6, 1.5, '1', NaN, null)
    refuses(number({ min: 0 }), -0.1, Infinity, NaN, '1')
    refuses(durationMs(0), -1, 2 ** 31, 0.5)
  })
})

describe('eitherOf, functionValue and objectWith', () => {
  it('accepts either codec and names both', () => {
    const limit = eitherOf(oneOf(-1), wholeNumber({ min: 100 }))
    expect([-1, 100].map((value) => rightOf(limit.decode(value)))).toEqual([-1, 100])
    expect(messages(limit, 5)).toEqual(['The value must be -1 or a whole number from 100.'])
  })

  it('accept functions, and objects with methods', () => {
    expect(functionValue.is(() => 1)).toBe(true)
    refuses(functionValue, 'f', {}, null)
    const scheduler = objectWith('now', 'schedule')
    expect(scheduler.is({ now: () => 1, schedule: () => 1 })).toBe(true)
    expect(messages(scheduler, { now: () => 1 })).toEqual(['The value must be an object with now and schedule.'])
  })
})

describe('recordOf', () => {
  it('keeps the laws of a codec', () => {
    keepsTheLaws(
      recordOf(wholeNumber()),
      fc.dictionary(
        fc.string().filter((name) => name !== '__proto__'),
        fc.integer(),
      ),
    )
  })

  it('names the entries that do not fit, and refuses __proto__ and too many names', () => {
    expect(messages(recordOf(text), { a: 1, b: 'x', c: 2 })).toEqual(['a must be a string.', 'c must be a string.'])
    refuses(recordOf(text), JSON.parse('{"__proto__":"x"}'), [], null)
    refuses(recordOf(text, { maxLength: 1 }), { a: '1', b: '2' })
  })
})

describe('listOf with a bound', () => {
  it('rejects a longer list, and names each item that does not fit', () => {
    expect(messages(listOf(text, { maxLength: 2 }), ['a', 'b', 'c'])).toEqual([
      'The value must be a list of at most 2, each a string.',
    ])
    expect(messages(listOf(text), [1, 'b', 2])).toEqual(['0 must be a string.', '2 must be a string.'])
  })

  it('reports a bounded number of items', () => {
    expect(
      messages(
        listOf(text),
        Array.from({ length: 1000 }, () => 1),
      ),
    ).toHaveLength(50)
  })
})

describe('optionsCodec', () => {
  const voice = optionsCodec({}, { sensitivity: wholeNumber({ min: 1, max: 10 }) })
  const codec = optionsCodec({ url: nonEmptyText }, { heartbeatMs: durationMs(0), voiceActivity: voice })

  it('decodes the options, and an undefined one as absent', () => {
    expect(
      rightOf(codec.decode({ url: 'x', heartbeatMs: undefined, voiceActivity: { sensitivity: 3 } })),
    ).toStrictEqual({
      url: 'x',
      voiceActivity: { sensitivity: 3 },
    })
    expectTypeOf<t.TypeOf<typeof codec>>().toEqualTypeOf<{
      readonly url: string
      readonly heartbeatMs?: number | undefined
      readonly voiceActivity?: { readonly sensitivity?: number | undefined } | undefined
    }>()
  })

  it('reports every fault with its path, and an unknown key with the name that was probably meant', () => {
    expect(messages(codec, { heartbeatMs: -1, heartBeatMs: 5, voiceActivity: { sensitivity: 11 }, q: 1 })).toEqual([
      'url must be a string that is not empty.',
      'heartbeatMs must be a whole number from 0 to 2147483647.',
      'voiceActivity.sensitivity must be a whole number from 1 to 10.',
      'heartBeatMs is not known; did you mean heartbeatMs?',
      'q is not known; there are url, heartbeatMs, voiceActivity.',
    ])
    expect(messages(codec, [])).toEqual(['The value must be an object with options.'])
  })

  it('reports a misspelled required option before what is missing', () => {
    expect(messages(codec, { ulr: 'ws://host', heartbeatMs: -1 })).toEqual([
      'ulr is not known; did you mean url?',
      'url must be a string that is not empty.',
      'heartbeatMs must be a whole number from 0 to 2147483647.',
    ])
  })

  it('recognizes its model and knows the names of its options', () => {
    expect(Object.keys(codec.codecs)).toEqual(['url', 'heartbeatMs', 'voiceActivity'])
    expect([{ url: 'x' }, { url: 'x', heartbeatMs: undefined }].every(codec.is)).toBe(true)
    expect([{}, { url: '' }, { url: 'x', other: 1 }, null].some(codec.is)).toBe(false)
    expect(codec.encode({ url: 'x', heartbeatMs: undefined })).toStrictEqual({ url: 'x' })
  })

  it('accepts codecs of io-ts itself, whose members are not keys of the value', () => {
    const both = t.intersection([t.type({ a: t.string }), t.partial({ b: t.number })])
    expect(messages(optionsCodec({ both }, {}), { both: { a: 1, b: 'x' } })).toEqual([
      'both.a must be string.',
      'both.b must be number.',
    ])
  })

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        codec.decode(value)
      }),
    )
  })
})

describe('checkOptions and checkOption', () => {
  const codec = optionsCodec({ token: nonEmptyText }, { timeoutMs: durationMs(1) })

  it('return the decoded options', () => {
    expect(checkOptions(codec, { token: 'x', timeoutMs: 5 })).toEqual({ token: 'x', timeoutMs: 5 })
    expect(checkOption('timeoutMs', durationMs(1), 5)).toBe(5)
  })

  it('throw invalid-options with the name, and repeat a number but nothing else', () => {
    const thrown = (act: () => unknown): unknown => {
      try {
        return act()
      } catch (error) {
        return error
      }
    }
    expect([
      thrown(() => checkOptions(codec, { token: 'x', timeoutMs: 0 })),
      thrown(() => checkOptions(codec, { token: ['secret'] })),
      thrown(() => checkOptions(codec, undefined)),
      thrown(() => checkOption('timeoutMs', durationMs(1), NaN)),
    ]).toMatchObject([
      { code: 'invalid-options', message: 'timeoutMs must be a whole number from 1 to 2147483647, not 0.' },
      { code: 'invalid-options', message: 'token must be a string that is not empty.' },
      { code: 'invalid-options', message: 'The options must be an object with options.' },
      { code: 'invalid-options', message: 'timeoutMs must be a whole number from 1 to 2147483647, not NaN.' },
    ])
  })
})
