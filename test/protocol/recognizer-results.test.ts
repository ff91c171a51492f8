import { describe, expect, it } from 'vitest'
import {
  readRecognizerMessage,
  writeRecognizerMessage,
  type RecognizerFinal,
  type RecognizerResponse,
  type RecognizerResult,
} from '../../src/protocol/recognizer-results.js'
import { recognizerMessage } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'

/** Every key of the models, so that a new one has to be given its bytes here. */
const response: Required<RecognizerResponse> = { operationResult: 'Success', recognitionId: 'r-1' }
const result: Required<RecognizerResult> = {
  recognitionId: 'r-1',
  text: ' hello',
  channel: 0,
  startMs: 100,
  endMs: 900,
}
const final: Required<RecognizerFinal> = { ...result, operationResult: 'Success', confidence: 0.9, heardMs: 1_000 }
const responseNames = ['recognize-response', 'stop-recognition-response', 'finalize-recognition-response'] as const
const resultNames = ['partial-result', 'milestone-result'] as const
const read = (message: unknown) => readRecognizerMessage(JSON.stringify(message))

describe('a recognizer message', () => {
  keepsTheLawsOfAReader({ read: readRecognizerMessage, write: writeRecognizerMessage, messages: recognizerMessage })

  it('has the bytes of service.md 4.2 and decisions.md, with strings for all fields', () => {
    for (const message of responseNames) {
      expect(writeRecognizerMessage({ message, ...response })).toBe(
        `{"message-name":"${message}","operation-result":"Success","recognition-id":"r-1"}`,
      )
    }
    const fields = '"recognition-id":"r-1","text":" hello","channel":"0","start-msec":"100","end-msec":"900"'
    for (const message of resultNames) {
      expect(writeRecognizerMessage({ message, ...result })).toBe(`{"message-name":"${message}",${fields}}`)
    }
    expect(writeRecognizerMessage({ message: 'final-result', ...final })).toBe(
      `{"message-name":"final-result",${fields},"operation-result":"Success","confidence":"0.90","heard-msec":"1000"}`,
    )
  })

  it('reads a plain service of the description, which gives no channel and no times', () => {
    const plain = { 'message-name': 'final-result', 'operation-result': 'Success', text: 'a', confidence: '0.87654' }
    expect(rightOf(read({ ...plain, 'recognition-id': 'r' }))).toEqual({
      message: 'final-result',
      recognitionId: 'r',
      operationResult: 'Success',
      text: 'a',
      confidence: 0.87654,
    })
    expect(rightOf(read({ 'message-name': 'partial-result', text: '' }))).toEqual({
      message: 'partial-result',
      text: '',
    })
  })

  it('takes numbers that are not written as strings', () => {
    const given = { 'message-name': 'final-result', 'operation-result': '', text: '', channel: 1, confidence: 1 }
    expect(rightOf(read(given))).toMatchObject({ channel: 1, confidence: 1 })
  })

  it('refuses a missing or ill-typed field by its name', () => {
    const json = JSON.parse(writeRecognizerMessage({ message: 'final-result', ...final })) as Record<string, unknown>
    for (const name of ['text', 'operation-result']) {
      for (const value of [5.5, true, [], null, {}]) {
        expect(refusalOf(read({ ...json, [name]: value })).message).toBe(`${name} must be a string.`)
      }
    }
    for (const message of [...responseNames, ...resultNames, 'final-result']) {
      expect(refusalOf(read({ 'message-name': message })).code).toBe('invalid-field')
    }
  })

  it('stands without a recognition-id that cannot be read', () => {
    const json = JSON.parse(writeRecognizerMessage({ message: 'final-result', ...final })) as Record<string, unknown>
    for (const value of [5.5, true, [], null, {}]) {
      expect(rightOf(read({ ...json, 'recognition-id': value }))).toEqual({
        message: 'final-result',
        ...final,
        recognitionId: undefined,
      })
    }
  })

  it('takes a number that cannot be read for absent, so that no final is lost by it', () => {
    const json = JSON.parse(writeRecognizerMessage({ message: 'final-result', ...final })) as Record<string, unknown>
    for (const [name, key] of [
      ['channel', 'channel'],
      ['start-msec', 'startMs'],
      ['end-msec', 'endMs'],
      ['confidence', 'confidence'],
    ] as const) {
      for (const value of [5.5, true, [], 'abc', '', null, {}]) {
        const message = rightOf(read({ ...json, [name]: value }))
        expect(message).toMatchObject({ message: 'final-result', text: final.text })
        expect(message).not.toHaveProperty(key)
      }
    }
  })

  it('refuses an unknown name without a word of it', () => {
    for (const name of ['very-secret', 'constructor', '__proto__', 'toString', 'recognize', 5, null, undefined, []]) {
      const refusal = { code: 'unknown-message', message: 'message-name is none that this client knows.' }
      expect(refusalOf(read({ text: '', 'operation-result': '', 'message-name': name }))).toEqual(refusal)
    }
  })
})
