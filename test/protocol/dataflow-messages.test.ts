import fc from 'fast-check'
import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import {
  contentType,
  type DataflowRequest,
  dataflowResponse,
  type DataflowResponse,
  readDataflowRequest,
  readDataflowResponse,
  requestNames,
  settings,
  type StartAudio,
  type StartRequest,
  type UpdateRequest,
  writeDataflowRequest,
  writeDataflowResponse,
} from '../../src/protocol/dataflow-messages.js'
import { dataflowRequest, dataflowResponse as anyResponse, settings as anySettings } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'
import { decodeWith } from '../../src/protocol/message-codec.js'

/** Every key of the models, so that a new key must be given its bytes here. */
const audio: Required<StartAudio> = { sampleRateHz: 8000, channels: 2, encoding: 'ulaw', output: { Encoding: 'pcm' } }
const start: Required<StartRequest> & { request: 'Start' } = {
  request: 'Start',
  audio,
  tenant: 'acme',
  token: 'very-secret',
  projectName: 'transcribe',
  language: 'en-US',
  settings: { ModelName: 'English', ChannelTags: ['agent', 'customer'] },
  callProperties: { CallId: '17', Inbound: true },
  sessionId: 's-1',
}
const update: Required<UpdateRequest> & { request: 'Update' } = {
  request: 'Update',
  settings: { Threshold: 0.5 },
  callProperties: { CallId: '18' },
}

const startJson = {
  MessageName: 'Start',
  Audio: { SampleRate: 8000, ChannelCount: 2, Encoding: 'ulaw' },
  Tenant: 'acme',
  Token: 'very-secret',
  ProjectName: 'transcribe',
}
const read = (message: unknown) => readDataflowRequest(JSON.stringify(message))
const withAudio = (fields: object) => ({ ...startJson, Audio: { ...startJson.Audio, ...fields } })

describe('a dataflow request in the form of the description', () => {
  keepsTheLawsOfAReader({
    read: readDataflowRequest,
    write: (message) => writeDataflowRequest(message),
    messages: dataflowRequest,
  })

  it('writes a Start as PROTOCOL 3.1 defines it', () => {
    expect(writeDataflowRequest(start)).toBe(
      '{"MessageName":"Start",' +
        '"Audio":{"SampleRate":8000,"ChannelCount":2,"Encoding":"ulaw","Output":{"Encoding":"pcm"}},' +
        '"Tenant":"acme","Token":"very-secret","ProjectName":"transcribe","Language":"en-US",' +
        '"Settings":{"ModelName":"English","ChannelTags":["agent","customer"]},' +
        '"CallProperties":{"CallId":"17","Inbound":true},"SessionId":"s-1"}',
    )
    expect(writeDataflowRequest(update)).toBe(
      '{"MessageName":"Update","Settings":{"Threshold":0.5},"CallProperties":{"CallId":"18"}}',
    )
    expect(writeDataflowRequest({ request: 'Finalize' })).toBe('{"MessageName":"Finalize"}')
    expect(writeDataflowRequest({ request: 'Stop' })).toBe('{"MessageName":"Stop"}')
  })
})

describe('a dataflow request in the kebab form', () => {
  keepsTheLawsOfAReader({
    read: readDataflowRequest,
    write: (message) => writeDataflowRequest(message, 'kebab'),
    messages: dataflowRequest,
  })

  it('writes the other requests as PROTOCOL 3.1 defines them', () => {
    expect(writeDataflowRequest(start, 'kebab')).toBe(
      '{"message-name":"start",' +
        '"audio":{"sample-rate":8000,"channel-count":2,"encoding":"ulaw","output":{"Encoding":"pcm"}},' +
        '"tenant":"acme","token":"very-secret","project-name":"transcribe","language":"en-US",' +
        '"settings":{"ModelName":"English","ChannelTags":["agent","customer"]},' +
        '"call-properties":{"CallId":"17","Inbound":true},"session-id":"s-1"}',
    )
    expect(writeDataflowRequest(update, 'kebab')).toBe(
      '{"message-name":"update","settings":{"Threshold":0.5},"call-properties":{"CallId":"18"}}',
    )
    expect(writeDataflowRequest({ request: 'Finalize' }, 'kebab')).toBe('{"message-name":"finalize"}')
    expect(writeDataflowRequest({ request: 'Stop' }, 'kebab')).toBe('{"message-name":"stop"}')
  })

  it('accepts tenant_id and a name in any letter case', () => {
    const { tenant, ...rest } = JSON.parse(writeDataflowRequest(start, 'kebab')) as Record<string, unknown>
    for (const name of ['start', 'START', 'Start']) {
      expect(rightOf(read({ ...rest, 'message-name': name, tenant_id: tenant }))).toEqual(start)
    }
  })
})

describe('readDataflowRequest', () => {
  it('accepts whole numbers as strings, and rejects the encoding in another letter case', () => {
    const given = rightOf(read(withAudio({ SampleRate: '16000', ChannelCount: '1' })))
    expect(given).toMatchObject({ audio: { sampleRateHz: 16000, channels: 1 } })
    expect(refusalOf(read(withAudio({ Encoding: 'PCM' }))).code).toBe('invalid-field')
  })

  it('rejects every missing or ill-typed field of a Start by its name, and names the request', () => {
    const wrong = [5.5, true, [], 'abc', null, {}]
    const cases: readonly [string, readonly unknown[], (value: unknown) => object][] = [
      ['Audio.SampleRate', [...wrong, 7999, 48001, -1], (SampleRate) => withAudio({ SampleRate })],
      ['Audio.ChannelCount', [...wrong, 0, 3, -1, '3'], (ChannelCount) => withAudio({ ChannelCount })],
      ['Audio.Encoding', [...wrong, ''], (Encoding) => withAudio({ Encoding })],
      ['Audio.Output', [5.5, true, [], 'abc', null], (Output) => withAudio({ Output })],
      ['Audio', [5.5, true, [], 'abc', null], (Audio) => ({ ...startJson, Audio })],
      ['Tenant', [5.5, true, [], '', null, {}], (Tenant) => ({ ...startJson, Tenant })],
      ['Token', [5.5, true, [], '', null, {}], (Token) => ({ ...startJson, Token })],
      ['ProjectName', [5.5, true, [], '', null, {}], (ProjectName) => ({ ...startJson, ProjectName })],
      ['Language', [5.5, true, [], null, {}], (Language) => ({ ...startJson, Language })],
      ['Settings', [5.5, true, [], 'abc', null, { a: null }], (Settings) => ({ ...startJson, Settings })],
      ['CallProperties', [5.5, true, [], 'abc', null], (CallProperties) => ({ ...startJson, CallProperties })],
    ]
    for (const [field, values, message] of cases) {
      const isOptional = ['Audio.Output', 'Language', 'Settings', 'CallProperties'].includes(field)
      for (const value of isOptional ? values : [...values, undefined]) {
        const result = read(message(value))
        const { code, message: remedy } = refusalOf(result)
        expect([value, code, remedy.split(' must be ')[0]]).toEqual([value, 'invalid-field', field])
        expect(either.isLeft(result) && result.left.request).toBe('Start')
      }
    }
  })

  it('names a kebab-case field in that form', () => {
    const kebab = JSON.parse(writeDataflowRequest(start, 'kebab')) as Record<string, unknown>
    const audio = { ...(kebab['audio'] as object), 'channel-count': 3 }
    expect(refusalOf(read({ ...kebab, audio })).message).toBe('audio.channel-count must be 1 or 2.')
    expect(refusalOf(read({ ...kebab, 'project-name': 5 })).message).toMatch(/^project-name must be/)
  })

  it('never repeats a value of the message, such as the token', () => {
    const secret = 'very-secret'
    for (const name of Object.keys(startJson).filter((key) => key !== 'MessageName')) {
      expect(refusalOf(read({ ...startJson, [name]: [secret] })).message).not.toContain(secret)
    }
    fc.assert(
      fc.property(fc.constantFrom('Tenant', 'ProjectName', 'Audio'), (name) => {
        expect(refusalOf(read({ ...startJson, [name]: 5 })).message).not.toContain(secret)
      }),
    )
  })

  it('rejects an unknown or missing name, cut to 60 characters', () => {
    const remedy = 'send Start, Update, Finalize or Stop.'
    expect(refusalOf(read({ MessageName: 'Begin' }))).toEqual({
      code: 'unknown-message',
      message: `MessageName "Begin" is unknown; ${remedy}`,
    })
    expect(refusalOf(read({ MessageName: 'x'.repeat(1_000_000) })).message.length).toBeLessThan(140)
    for (const name of ['constructor', '__proto__', 'toString', 'StartResponse', 'Start ']) {
      expect(refusalOf(read({ MessageName: name })).code).toBe('unknown-message')
    }
    for (const message of [{}, { MessageName: 5 }, { MessageName: null }, { MessageName: [] }, { MessageName: '' }]) {
      expect(refusalOf(read(message))).toEqual({
        code: 'unknown-message',
        message: `MessageName must be a string; ${remedy}`,
      })
    }
  })

  it('reads a Start with 100 000 settings in linear time', { timeout: 10_000 }, () => {
    const Settings = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`s${String(index)}`, index]))
    expect(rightOf(read({ ...startJson, Settings }))).toMatchObject({ settings: Settings })
  })

  it('knows the four names of requests', () => {
    expect(requestNames).toEqual(['Start', 'Update', 'Finalize', 'Stop'])
    const names: readonly DataflowRequest['request'][] = requestNames
    expect(new Set(names).size).toBe(4)
  })
})

describe('a dataflow response', () => {
  keepsTheLawsOfAReader({
    read: readDataflowResponse,
    write: (response) => JSON.stringify(dataflowResponse.encode(response)),
    messages: anyResponse,
  })

  it('writes each response as PROTOCOL 3.1 defines it', () => {
    expect(requestNames.map((name) => writeDataflowResponse('success', name))).toEqual([
      '{"MessageName":"StartResponse","operation-result":"success"}',
      '{"MessageName":"UpdateResponse","operation-result":"success"}',
      '{"MessageName":"FinalizeResponse","operation-result":"success"}',
      '{"MessageName":"StopResponse","operation-result":"success"}',
    ])
  })

  it('has no name if the request could not be read', () => {
    expect(writeDataflowResponse('invalid-json: Send JSON.')).toBe('{"operation-result":"invalid-json: Send JSON."}')
  })

  it('requires only operation-result, as in the description', () => {
    const bare: DataflowResponse = { operationResult: 'success' }
    expect(rightOf(readDataflowResponse('{"operation-result":"success"}'))).toEqual(bare)
  })

  it('accepts the names of either dialect', () => {
    const full: Required<DataflowResponse> = {
      messageName: 'StartResponse',
      operationResult: 'Success',
      sessionId: 's-1',
    }
    const kebab = '{"message-name":"StartResponse","OperationResult":"Success","session-id":"s-1"}'
    expect(rightOf(readDataflowResponse(kebab))).toEqual(full)
  })

  it('rejects a missing or ill-typed field by its name', () => {
    for (const value of [5.5, true, [], null, {}]) {
      const result = readDataflowResponse(JSON.stringify({ 'operation-result': value }))
      expect(refusalOf(result)).toEqual({ code: 'invalid-field', message: 'operation-result must be a string.' })
    }
    expect(refusalOf(readDataflowResponse('{}')).message).toBe('operation-result must be a string.')
  })

  it('omits a name that cannot be read', () => {
    const named = '{"MessageName":5,"operation-result":"success"}'
    expect(rightOf(readDataflowResponse(named))).toEqual({ operationResult: 'success' })
  })
})

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

  it('accepts primitives and lists of primitives', () => {
    const value = { ModelName: 'English', Threshold: 0.5, Debug: true, ChannelTags: ['agent', 'customer'], None: [] }
    expect(rightOf(decode(value))).toEqual(value)
  })

  it('rejects nested objects, null and non-objects', () => {
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

it('numbers the content types as PROTOCOL 3 does', () => {
  expect(contentType).toStrictEqual({ audio: 0, event: 1, request: 2, response: 3 })
})
