import { describe, expect, it } from 'vitest'
import {
  type EventEnvelope,
  readEventEnvelope,
  recognitionData,
  type RecognitionData,
  resultOf,
  sessionEventOf,
  writeEventEnvelope,
} from '../../src/protocol/dataflow-events.js'
import { eventName } from '../../src/protocol/event-name.js'
import { eventEnvelope, recognitionData as anyData } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'
import fc from 'fast-check'
import { decodeWith } from '../../src/protocol/message-codec.js'

const full: Required<EventEnvelope> = {
  name: 'Keyword',
  channel: 1,
  startMs: 1200,
  endMs: 1900,
  groupId: 'g-1',
  tags: ['customer'],
  data: { Word: 'refund', Score: [0.5, null] },
}
const read = (message: unknown) => readEventEnvelope(JSON.stringify(message))

describe('an event envelope', () => {
  keepsTheLawsOfAReader({ read: readEventEnvelope, write: writeEventEnvelope, messages: eventEnvelope })

  it('writes an event as PROTOCOL 3.3 defines it', () => {
    expect(writeEventEnvelope(full)).toBe(
      '{"Name":"Keyword","Channel":1,"StartMsec":1200,"EndMsec":1900,"GroupId":"g-1","Tags":["customer"],' +
        '"Data":{"Word":"refund","Score":[0.5,null]}}',
    )
  })

  it('accepts whole numbers as strings, and requires only the name', () => {
    const given = { Name: 'x', Channel: '-2', StartMsec: '10', EndMsec: '-1' }
    expect(rightOf(read(given))).toEqual({ name: 'x', channel: -2, startMs: 10, endMs: -1 })
    expect(rightOf(read({ Name: 'x' }))).toEqual({ name: 'x' })
  })

  it('refuses a missing or ill-typed name', () => {
    for (const value of [5.5, true, [], null, {}, undefined]) {
      const refusal = { code: 'invalid-field', message: 'Name must be a string.' }
      expect(refusalOf(read({ Name: value }))).toEqual(refusal)
    }
  })

  it('omits a field that cannot be read', () => {
    for (const name of ['Channel', 'StartMsec', 'EndMsec']) {
      for (const value of [5.5, true, [], 'abc', 'NaN', '', null, {}]) {
        expect(rightOf(read({ Name: 'x', [name]: value }))).toEqual({ name: 'x' })
      }
    }
    expect(rightOf(read({ Name: 'x', GroupId: 5, Channel: 1 }))).toEqual({ name: 'x', channel: 1 })
    for (const value of [5.5, true, 'abc', null, [1]]) {
      expect(rightOf(read({ Name: 'x', Tags: value }))).toEqual({ name: 'x' })
    }
  })

  it('accepts any data, including null and inherited names', () => {
    const json = '{"Name":"x","Data":{"__proto__":{"polluted":true},"constructor":null}}'
    const { data } = rightOf(readEventEnvelope(json))
    expect(Object.keys(data as object)).toEqual(['__proto__', 'constructor'])
    expect('polluted' in {}).toBe(false)
    expect(rightOf(read({ Name: 'x', Data: null }))).toEqual({ name: 'x', data: null })
  })

  it('reads data nested 200 000 deep', { timeout: 10_000 }, () => {
    const json = `{"Name":"x","Data":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
    expect(Array.isArray(rightOf(readEventEnvelope(json)).data)).toBe(true)
  })
})

const fullResult: Required<RecognitionData> = {
  text: 'hello world',
  confidence: 0.9,
  stableLength: 5,
  words: [{ text: 'hello', startMs: 100, endMs: 400, confidence: 0.95 }],
  slots: { greeting: 'hello' },
  isIncomplete: true,
  recognitionId: 'r-1',
  heardMs: 1_000,
  error: 'engine-failed: The engine failed.',
}
const fullJson = recognitionData.encode(fullResult)
const times = { channel: 1, startMs: 100, endMs: 900 }
const event = (name: string, data?: unknown): EventEnvelope => ({ name, ...times, data })

describe('recognitionData', () => {
  it('decodes what it encoded, through JSON', () => {
    fc.assert(
      fc.property(anyData, (data) => {
        const json: unknown = JSON.parse(JSON.stringify(recognitionData.encode(data)))
        expect(rightOf(decodeWith(recognitionData, json))).toEqual(data)
      }),
    )
  })

  it('uses the names of PROTOCOL 3.3', () => {
    expect(JSON.stringify(fullJson)).toBe(
      '{"Text":"hello world","Confidence":0.9,"StableLength":5,' +
        '"Words":[{"Text":"hello","StartMsec":100,"EndMsec":400,"Confidence":0.95}],"Slots":{"greeting":"hello"},"Incomplete":true,' +
        '"RecognitionId":"r-1","HeardMsec":1000,"Error":"engine-failed: The engine failed."}',
    )
  })

  it('requires its text, and omits fields that cannot be read', () => {
    const read = (data: object) => decodeWith(recognitionData, { ...fullJson, ...data })
    const without = (key: keyof RecognitionData) => ({ ...fullResult, [key]: undefined })
    const word = { Text: 'a', StartMsec: 1, EndMsec: 2, Confidence: 1 }
    expect(refusalOf(read({ Text: undefined })).message).toBe('Text must be a string.')
    for (const Confidence of [1.5, -1, '0.5', null]) {
      expect(rightOf(read({ Confidence }))).toEqual(without('confidence'))
    }
    for (const StableLength of [5.5, 'five', null, true]) {
      expect(rightOf(read({ StableLength }))).toEqual(without('stableLength'))
    }
    for (const Words of [[word, { ...word, StartMsec: 5.5 }], {}, 'a']) {
      expect(rightOf(read({ Words }))).toEqual(without('words'))
    }
    expect(rightOf(read({ RecognitionId: 5 }))).toEqual(without('recognitionId'))
    expect(rightOf(read({ Error: null }))).toEqual(without('error'))
  })
})

describe('sessionEventOf', () => {
  it('uses the five names of PROTOCOL 3.3, and two of its own', () => {
    const names = [
      'Speech Started',
      'Speech Ended',
      'SR Silence',
      'SR Partial',
      'SR Milestone',
      'SR Final',
      'SR No Match',
    ]
    expect(Object.values(eventName)).toEqual(names)
  })

  it('has no stable length that the text cannot have', () => {
    const lengthOf = (StableLength: unknown) => {
      const read = sessionEventOf(event('SR Partial', { Text: 'hello', StableLength }))
      return read.type === 'partial' && 'stableLength' in read ? read.stableLength : 'none'
    }
    expect([5, '4'].map(lengthOf)).toEqual([5, 4])
    for (const wrong of [6, -1, 0, 1.5, 'all', null, true, [2]]) expect(lengthOf(wrong), String(wrong)).toBe('none')
  })

  it('types the three results, each with its fields', () => {
    const base = { ...times, text: 'hello world', recognitionId: 'r-1' }
    const { words, slots, confidence, isIncomplete, heardMs, error, stableLength } = fullResult
    expect(sessionEventOf(event('SR Partial', fullJson))).toStrictEqual({ type: 'partial', ...base, stableLength })
    expect(sessionEventOf(event('SR Milestone', fullJson))).toStrictEqual({
      type: 'milestone',
      ...base,
      confidence,
      words,
      slots,
      isIncomplete,
    })
    expect(sessionEventOf(event('SR Final', fullJson))).toStrictEqual({
      type: 'final',
      ...base,
      confidence,
      heardMs,
      error,
    })
  })

  it('omits channel and times that are missing, invalid or of all channels', () => {
    for (const [channel, at] of [
      [-1, -1],
      [-2, -1],
    ] as const) {
      const given = { name: 'SR Partial', channel, startMs: at, endMs: at, data: { Text: 'a' } }
      expect(sessionEventOf(given)).toStrictEqual({ type: 'partial', text: 'a' })
    }
    expect(sessionEventOf({ name: 'SR Final', data: { Text: '' } })).toStrictEqual({ type: 'final', text: '' })
    const zero = { name: 'SR Partial', channel: 0, startMs: 0, endMs: 0, data: { Text: 'a' } }
    expect(sessionEventOf(zero)).toStrictEqual({ type: 'partial', channel: 0, startMs: 0, endMs: 0, text: 'a' })
  })

  it('passes every other event on unchanged, with its defaults', () => {
    const bare = { type: 'event', channel: -1, startMs: -1, endMs: -1, tags: [], data: null }
    for (const name of ['Speech Started', 'SR Silence', 'Keyword', '', '__proto__', 'constructor', 'sr partial']) {
      expect(sessionEventOf({ name })).toStrictEqual({ ...bare, name })
      expect(sessionEventOf({ name, groupId: '' })).toStrictEqual({ ...bare, name })
    }
    const rich = { name: 'Keyword', ...times, groupId: 'g', tags: ['a'], data: [1] }
    expect(sessionEventOf(rich)).toStrictEqual({ type: 'event', ...rich })
  })

  it('keeps a result whose data does not fit as an event', () => {
    for (const data of [undefined, null, 'text', [], {}, { Text: 5 }]) {
      const given = event('SR Final', data)
      expect(sessionEventOf(given)).toStrictEqual({ type: 'event', ...given, tags: [], data: data ?? null })
    }
  })

  it('remains a result when its confidence, words or error cannot be read', () => {
    const data = { Text: 'a', Confidence: 2, Words: 'a', RecognitionId: 1, Error: 5 }
    expect(sessionEventOf(event('SR Final', data))).toStrictEqual({ type: 'final', ...times, text: 'a' })
  })

  it('never throws', () => {
    const name = fc.constantFrom(...Object.values(eventName))
    fc.assert(
      fc.property(eventEnvelope, name, fc.anything(), (given, known, data) => {
        sessionEventOf({ ...given, name: known, data })
      }),
    )
  })
})

describe('resultOf', () => {
  it('is the typed result in an event of recognition, and undefined for any other event', () => {
    const data = { Text: ' hello', Confidence: 0.9 }
    expect(resultOf({ name: eventName.milestone, channel: 1, startMs: 100, endMs: 900, data })).toEqual({
      type: 'milestone',
      channel: 1,
      startMs: 100,
      endMs: 900,
      text: ' hello',
      confidence: 0.9,
    })
    expect(resultOf({ name: eventName.milestone, data: { Text: 5 } })).toBeUndefined()
    expect(resultOf({ name: 'Keyword', data })).toBeUndefined()
  })
})
