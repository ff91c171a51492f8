import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EventEnvelope } from '../../src/protocol/event-envelope.js'
import { decodeWith } from '../../src/protocol/message-codec.js'
import { eventName } from '../../src/protocol/event-name.js'
import { recognitionData, sessionEventOf, type RecognitionData } from '../../src/protocol/recognition-events.js'
import { eventEnvelope, recognitionData as anyData } from './arbitraries.js'
import { refusalOf, rightOf } from './reader-laws.js'

const full: Required<RecognitionData> = {
  text: 'hello world',
  confidence: 0.9,
  words: [{ text: 'hello', startMs: 100, endMs: 400, confidence: 0.95 }],
  recognitionId: 'r-1',
  heardMs: 1_000,
  error: 'engine-failed: The engine failed.',
}
const fullJson = recognitionData.encode(full)
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

  it('has the names of decisions.md', () => {
    expect(JSON.stringify(fullJson)).toBe(
      '{"Text":"hello world","Confidence":0.9,' +
        '"Words":[{"Text":"hello","StartMsec":100,"EndMsec":400,"Confidence":0.95}],' +
        '"RecognitionId":"r-1","HeardMsec":1000,"Error":"engine-failed: The engine failed."}',
    )
  })

  it('needs its text, and stands without a field that cannot be read', () => {
    const read = (data: object) => decodeWith(recognitionData, { ...fullJson, ...data })
    const without = (key: keyof RecognitionData) => ({ ...full, [key]: undefined })
    const word = { Text: 'a', StartMsec: 1, EndMsec: 2, Confidence: 1 }
    expect(refusalOf(read({ Text: undefined })).message).toBe('Text must be a string.')
    for (const Confidence of [1.5, -1, '0.5', null]) {
      expect(rightOf(read({ Confidence }))).toEqual(without('confidence'))
    }
    for (const Words of [[word, { ...word, StartMsec: 5.5 }], {}, 'a']) {
      expect(rightOf(read({ Words }))).toEqual(without('words'))
    }
    expect(rightOf(read({ RecognitionId: 5 }))).toEqual(without('recognitionId'))
    expect(rightOf(read({ Error: null }))).toEqual(without('error'))
  })
})

describe('sessionEventOf', () => {
  it('has the five names of decisions.md, and one of its own', () => {
    const names = ['Speech Started', 'Speech Ended', 'SR Silence', 'SR Partial', 'SR Milestone', 'SR Final']
    expect(Object.values(eventName)).toEqual(names)
  })

  it('types the three results, each with what it may carry', () => {
    const base = { ...times, text: 'hello world', recognitionId: 'r-1' }
    const { words, confidence, heardMs, error } = full
    expect(sessionEventOf(event('SR Partial', fullJson))).toStrictEqual({ type: 'partial', ...base })
    expect(sessionEventOf(event('SR Milestone', fullJson))).toStrictEqual({
      type: 'milestone',
      ...base,
      confidence,
      words,
    })
    expect(sessionEventOf(event('SR Final', fullJson))).toStrictEqual({
      type: 'final',
      ...base,
      confidence,
      heardMs,
      error,
    })
  })

  it('leaves out channel and times that are missing, invalid or of all channels', () => {
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

  it('hands on every other event as it came, with its defaults', () => {
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

  it('stays a result whose confidence, words or error cannot be read', () => {
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
