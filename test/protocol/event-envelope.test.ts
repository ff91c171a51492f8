import { describe, expect, it } from 'vitest'
import { readEventEnvelope, writeEventEnvelope, type EventEnvelope } from '../../src/protocol/event-envelope.js'
import { eventEnvelope } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'

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

  it('has the bytes of decisions.md', () => {
    expect(writeEventEnvelope(full)).toBe(
      '{"Name":"Keyword","Channel":1,"StartMsec":1200,"EndMsec":1900,"GroupId":"g-1","Tags":["customer"],' +
        '"Data":{"Word":"refund","Score":[0.5,null]}}',
    )
  })

  it('takes whole numbers as strings, and needs the name alone', () => {
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

  it('stands without a field that cannot be read', () => {
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

  it('takes any data, null and names that are inherited among it', () => {
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
