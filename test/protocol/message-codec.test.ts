import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  decodeWith,
  type Field,
  type Fields,
  integer,
  messageCodec,
  optional,
  required,
  shownName,
} from '../../src/protocol/message-codec.js'
import { nonEmptyText, oneOf, text } from '../../src/protocol/validation.js'
import { refusalOf, rightOf } from './reader-laws.js'
import { readDataflowRequest } from '../../src/protocol/dataflow-messages.js'
import { readRecognizerRequest } from '../../src/protocol/recognizer-messages.js'
import { isLoopback } from '../../src/protocol/loopback.js'
import { readRecognitionSettings } from '../../packages/server/src/nodes/speech/recognition-settings.js'

interface Inner {
  readonly rateHz: number
}
interface Model {
  readonly token: string
  readonly inner: Inner
  readonly note?: string
}
const inner = messageCodec<Inner>({ rateHz: required(integer(), 'Rate', 'rate') })
const model = (nameIndex: 0 | 1 = 0) =>
  messageCodec<Model>(
    {
      token: required(nonEmptyText, 'Token', 'token', 'old-token'),
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

  it('rejects a missing field by its first name, and an ill-typed one by the name that was used', () => {
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

  it('never repeats the rejected value', () => {
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

  it('omits undefined fields, and writes the names of its dialect or the first name if there is no other', () => {
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
    const odd = messageCodec<{ readonly field: string }>({
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
      fc.property(fc.anything(), fc.anything(), fc.anything(), (value, item, two) => {
        decode(value)
        decode({ Token: item, Inner: two })
        decode({ Token: 't', Inner: { Rate: item }, Note: two })
      }),
    )
  })
})

/** Checked by the compiler (`npm run typecheck`): an expected error that no longer occurs is an error. */
describe('Fields', () => {
  it('requires one field for every key of the model, including optional ones', () => {
    expectTypeOf<keyof Fields<Model>>().toEqualTypeOf<keyof Model>()
    // @ts-expect-error note is forgotten
    const forgotten: Fields<Model> = { token: required(text, 'a'), inner: required(inner, 'b') }
    expect(Object.keys(forgotten)).not.toContain('note')
  })

  it("requires a field to be optional exactly if the model's is", () => {
    expectTypeOf<Fields<Model>['token']>().toEqualTypeOf<Field<string, true>>()
    expectTypeOf<Fields<Model>['note']>().toEqualTypeOf<Field<string, false>>()
    // @ts-expect-error the model must have the rate
    const missing: Fields<Inner> = { rateHz: optional(integer(), 'Rate') }
    expect(missing.rateHz.required).toBe(false)
  })

  it("requires a codec of the key's type", () => {
    // @ts-expect-error a rate is a number
    const wrong: Fields<Inner> = { rateHz: required(text, 'Rate') }
    // @ts-expect-error a rate may be more than 1 and 2
    const narrow: Fields<Inner> = { rateHz: required(oneOf(1, 2), 'Rate') }
    expect([wrong.rateHz.names, narrow.rateHz.names]).toEqual([['Rate'], ['Rate']])
  })
})

const start = {
  MessageName: 'Start',
  Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
  Tenant: 'Acme',
  Token: 'x',
  ProjectName: 'p',
}
const read = (change: object) => readDataflowRequest(JSON.stringify({ ...start, ...change }))

describe('a field under two of its names', () => {
  it.each([
    ['message-name', { 'message-name': 'Finalize' }],
    ['tenant_id', { tenant_id: 'Other' }],
    ['tenant', { tenant: 'acme' }],
    ['token', { token: 'y' }],
    ['project-name', { 'project-name': 7 }],
    ['settings', { Settings: {}, settings: { a: 1 } }],
    ['sample-rate', { Audio: { ...start.Audio, 'sample-rate': 16000 } }],
    ['encoding', { Audio: { ...start.Audio, encoding: 'ulaw' } }],
  ])('is rejected by both if %s differs', (name, change) => {
    expect(read(change)).toMatchObject({
      left: {
        request: 'Start',
        error: {
          code: 'invalid-field',
          message: expect.stringContaining(` and ${name} are the same field`) as unknown,
        },
      },
    })
  })

  it.each([
    [{ 'message-name': 'start' }],
    [{ tenant_id: 'Acme', tenant: 'Acme' }],
    [{ Audio: { ...start.Audio, 'sample-rate': '8000' }, audio: undefined }],
  ])('is accepted if both are equal: %j', (change) => {
    expect(read(change)).toMatchObject({ right: { tenant: 'Acme' } })
  })

  it('is also rejected among the settings', () => {
    expect(readRecognitionSettings({ ModelName: 'a', 'model-name': 'b' })).toMatchObject({
      left: {
        code: 'invalid-field',
        message: 'ModelName and model-name are the same field and differ; send one of them.',
      },
    })
    expect(readRecognitionSettings({ VadSensitivity: 7, 'vad-sensitivity': '7' })).toMatchObject({
      right: { parameters: { sensitivity: 7 } },
    })
  })
})

describe('an unknown name of a message', () => {
  it.each(['<script>', ' lead', 'x'.repeat(33), 'naïve', 'a"b', '', 'line\nline', '7', '__proto__'])(
    'is not repeated if it is %j',
    (name) => {
      expect(shownName(name)).toBe('')
      const answers = [
        readDataflowRequest(JSON.stringify({ MessageName: name })),
        readRecognizerRequest(JSON.stringify({ 'message-name': name })),
      ]
      for (const answer of answers) {
        expect(answer).toMatchObject({ left: { error: { code: 'unknown-message' } } })
        if (name !== '') expect(JSON.stringify(answer)).not.toContain(name.slice(0, 5).trim())
      }
    },
  )

  it('is repeated if it is plain', () => {
    expect(readDataflowRequest('{"MessageName":"Dance"}')).toMatchObject({
      left: { error: { message: expect.stringContaining('MessageName "Dance" is unknown') as unknown } },
    })
  })
})

describe('loopback', () => {
  it.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true)
  })
  it.each(['localhost.example.com', '127.0.0.1.example.com', '0.0.0.0', '::', 'example', '', '128.0.0.1', 'localhos'])(
    'is not %j',
    (host) => {
      expect(isLoopback(host)).toBe(false)
    },
  )
})
