import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import {
  readRecognizerMessage,
  readRecognizerRequest,
  type RecognizeRequest,
  type RecognizerFinal,
  type RecognizerMilestone,
  type RecognizerResponse,
  type RecognizerResult,
  writeRecognizerMessage,
  writeRecognizerRequest,
} from '../../src/protocol/recognizer-messages.js'
import { recognizerMessage, recognizerRequest } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'
import fc from 'fast-check'
import { dataflowSuccess, isSuccess, recognizerSuccess } from '../../src/protocol/operation-result.js'

/** Every key of the model, so that a new key must be given its bytes here. */
const full: Required<RecognizeRequest> & { request: 'recognize' } = {
  request: 'recognize',
  audioFormat: 'pcm',
  modelName: 'English',
  modelTenant: 'Default',
  modelVersion: '2',
  sampleRateHz: 16000,
  sessionId: 's-1',
  audioSplitter: 'audio-segmenter',
  sensitivity: 6,
  preSpeechBufferMs: 300,
  postSpeechBufferMs: 400,
  maxSpeechDurationMs: -1,
  silenceTriggerMs: 401,
  completeSilenceMs: 120,
  gracefulSilenceThresholdMs: 10000,
  reject: 'high',
  phrases: ['ask for maria', 'no'],
  language: 'en-US',
}
const fullJson = JSON.parse(writeRecognizerRequest(full)) as Readonly<Record<string, unknown>>
const read = (message: unknown) => readRecognizerRequest(JSON.stringify(message))

describe('a recognizer request', () => {
  keepsTheLawsOfAReader({ read: readRecognizerRequest, write: writeRecognizerRequest, messages: recognizerRequest })

  it('writes requests as PROTOCOL 4.2 defines them', () => {
    expect(writeRecognizerRequest(full)).toBe(
      '{"message-name":"recognize","audio-format":"pcm","model-name":"English","model-tenant":"Default",' +
        '"model-version":"2","sample-rate":16000,"session-id":"s-1","audio-splitter":"audio-segmenter","vad-sensitivity":6,' +
        '"vad-pre-speech-buffer-msec":300,"vad-post-speech-buffer-msec":400,"vad-max-speech-duration-msec":-1,' +
        '"vad-silence-trigger-msec":401,"vad-complete-silence-msec":120,' +
        '"vad-graceful-silence-threshold-msec":10000,"reject":"high","phrases":["ask for maria","no"],"language":"en-US"}',
    )
    expect(writeRecognizerRequest({ request: 'stop-recognition' })).toBe('{"message-name":"stop-recognition"}')
    expect(writeRecognizerRequest({ request: 'finalize-recognition' })).toBe('{"message-name":"finalize-recognition"}')
  })

  it('accepts whole numbers as strings', () => {
    const strings = Object.fromEntries(
      Object.entries(fullJson).map(([name, value]) => [name, typeof value === 'number' ? String(value) : value]),
    )
    expect(rightOf(read(strings))).toEqual(full)
  })

  it('rejects every missing or ill-typed field by its name, and names the request', () => {
    const integers = Object.keys(fullJson).filter((name) => typeof fullJson[name] === 'number')
    expect(integers).toHaveLength(8)
    const texts = ['model-name', 'model-tenant', 'model-version']
    const words = ['audio-format', 'audio-splitter']
    const cases = [
      ...integers.map((name) => [name, [5.5, true, [], 'abc', null, {}, '']] as const),
      ...texts.map((name) => [name, [5.5, true, [], null, {}]] as const),
      ...words.map((name) => [name, [5.5, true, [], 'abc', null, 'PCM']] as const),
      ...['audio-format', 'model-name', 'sample-rate'].map((name) => [name, [undefined]] as const),
      ['phrases', [5.5, true, 'abc', null, {}]] as const,
      ['model-name', ['']] as const,
      ['sample-rate', [7999, 48001, '7999']] as const,
    ]
    for (const [name, values] of cases) {
      for (const value of values) {
        const result = read({ ...fullJson, [name]: value })
        const { code, message } = refusalOf(result)
        expect([value, code, message.split(' must be ')[0]]).toEqual([value, 'invalid-field', name])
        expect(either.isLeft(result) && result.left.request).toBe('recognize')
      }
    }
  })

  it('never repeats the rejected value', () => {
    for (const name of Object.keys(fullJson).filter((key) => key !== 'message-name')) {
      const secret = name === 'phrases' ? 'very-secret' : ['very-secret']
      expect(refusalOf(read({ ...fullJson, [name]: secret })).message).not.toContain('secret')
    }
  })

  it('rejects an unknown or missing name, cut to 60 characters', () => {
    const remedy = 'send recognize, stop-recognition or finalize-recognition.'
    expect(refusalOf(read({ 'message-name': 'begin' }))).toEqual({
      code: 'unknown-message',
      message: `message-name "begin" is unknown; ${remedy}`,
    })
    expect(refusalOf(read({ 'message-name': 'x'.repeat(1_000_000) })).message.length).toBeLessThan(160)
    for (const name of ['constructor', '__proto__', 'toString', 'Recognize', 'recognize-response']) {
      expect(refusalOf(read({ ...fullJson, 'message-name': name })).code).toBe('unknown-message')
    }
    for (const message of [{}, { 'message-name': 5 }, { 'message-name': null }, { MessageName: 'recognize' }]) {
      expect(refusalOf(read(message)).message).toBe(`message-name must be a string; ${remedy}`)
    }
  })
})

/** Every key of the models, so that a new key must be given its bytes here. */
const response: Required<RecognizerResponse> = { operationResult: 'Success', recognitionId: 'r-1', sessionId: 's-1' }
const result: Required<RecognizerResult> = {
  recognitionId: 'r-1',
  text: ' hello',
  channel: 0,
  startMs: 100,
  endMs: 900,
}
const milestone: Required<RecognizerMilestone> = {
  ...result,
  confidence: 0.9,
  words: [{ text: 'hello', startMs: 100, endMs: 900, confidence: 0.875 }],
  slots: { greeting: 'hello' },
  isIncomplete: true,
}
const final: Required<RecognizerFinal> = { ...result, operationResult: 'Success', confidence: 0.9, heardMs: 1_000 }
const responseNames = ['recognize-response', 'stop-recognition-response', 'finalize-recognition-response'] as const
const resultNames = ['partial-result', 'milestone-result'] as const
const readMessage = (message: unknown) => readRecognizerMessage(JSON.stringify(message))

describe('a recognizer message', () => {
  keepsTheLawsOfAReader({ read: readRecognizerMessage, write: writeRecognizerMessage, messages: recognizerMessage })

  it('writes results as PROTOCOL 4.2 defines them, with strings for all fields', () => {
    for (const message of responseNames) {
      expect(writeRecognizerMessage({ message, ...response })).toBe(
        `{"message-name":"${message}","operation-result":"Success","recognition-id":"r-1","session-id":"s-1"}`,
      )
    }
    const fields = '"recognition-id":"r-1","text":" hello","channel":"0","start-msec":"100","end-msec":"900"'
    expect(writeRecognizerMessage({ message: 'partial-result', ...result })).toBe(
      `{"message-name":"partial-result",${fields}}`,
    )
    const words = JSON.stringify('[{"text":"hello","start-msec":"100","end-msec":"900","confidence":"0.875"}]')
    expect(writeRecognizerMessage({ message: 'milestone-result', ...milestone })).toBe(
      `{"message-name":"milestone-result",${fields},"confidence":"0.90","words":${words},"slots":"{\\"greeting\\":\\"hello\\"}","incomplete":"true"}`,
    )
    expect(writeRecognizerMessage({ message: 'final-result', ...final })).toBe(
      `{"message-name":"final-result",${fields},"operation-result":"Success","confidence":"0.90","heard-msec":"1000"}`,
    )
  })

  it('writes an event with data of any shape, and reads one that has only a name', () => {
    const event = { message: 'event', name: 'Fan Noise', channel: 0, startMs: 20, data: { Level: -30 } } as const
    expect(writeRecognizerMessage(event)).toBe(
      '{"message-name":"event","name":"Fan Noise","channel":"0","start-msec":"20","data":{"Level":-30}}',
    )
    expect(rightOf(readMessage({ 'message-name': 'event', name: 'Fan Noise' }))).toEqual({
      message: 'event',
      name: 'Fan Noise',
    })
  })

  it('reads the messages of a minimal service, which sends no channel and no times', () => {
    const plain = { 'message-name': 'final-result', 'operation-result': 'Success', text: 'a', confidence: '0.87654' }
    expect(rightOf(readMessage({ ...plain, 'recognition-id': 'r' }))).toEqual({
      message: 'final-result',
      recognitionId: 'r',
      operationResult: 'Success',
      text: 'a',
      confidence: 0.87654,
    })
    expect(rightOf(readMessage({ 'message-name': 'partial-result', text: '' }))).toEqual({
      message: 'partial-result',
      text: '',
    })
  })

  it('reads a milestone without its words if they cannot be read', () => {
    const list = [{ text: 'hello', 'start-msec': 'soon', 'end-msec': '900', confidence: '0.5' }]
    for (const words of [list, JSON.stringify(list), '[', '{}', '"hello"', '', 5, null]) {
      expect(rightOf(readMessage({ 'message-name': 'milestone-result', text: ' hello', words }))).toEqual({
        message: 'milestone-result',
        text: ' hello',
      })
    }
  })

  it('reads a milestone without its slots if they cannot be read', () => {
    for (const slots of ['', '[]', '{', '"x"', '{"a":5}', '{"a":{}}', { a: 5 }, null, 5]) {
      expect(rightOf(readMessage({ 'message-name': 'milestone-result', text: ' hello', slots }))).toEqual({
        message: 'milestone-result',
        text: ' hello',
      })
    }
  })

  it('accepts numbers that are not strings', () => {
    const given = { 'message-name': 'final-result', 'operation-result': '', text: '', channel: 1, confidence: 1 }
    expect(rightOf(readMessage(given))).toMatchObject({ channel: 1, confidence: 1 })
  })

  it('rejects a missing or ill-typed field by its name', () => {
    const json = JSON.parse(writeRecognizerMessage({ message: 'final-result', ...final })) as Record<string, unknown>
    for (const name of ['text', 'operation-result']) {
      for (const value of [5.5, true, [], null, {}]) {
        expect(refusalOf(readMessage({ ...json, [name]: value })).message).toBe(`${name} must be a string.`)
      }
    }
    for (const message of [...responseNames, ...resultNames, 'final-result']) {
      expect(refusalOf(readMessage({ 'message-name': message })).code).toBe('invalid-field')
    }
  })

  it('omits a recognition-id that cannot be read', () => {
    const json = JSON.parse(writeRecognizerMessage({ message: 'final-result', ...final })) as Record<string, unknown>
    for (const value of [5.5, true, [], null, {}]) {
      expect(rightOf(readMessage({ ...json, 'recognition-id': value }))).toEqual({
        message: 'final-result',
        ...final,
        recognitionId: undefined,
      })
    }
  })

  it('treats a number that cannot be read as absent, so that no final is lost', () => {
    const json = JSON.parse(writeRecognizerMessage({ message: 'final-result', ...final })) as Record<string, unknown>
    for (const [name, key] of [
      ['channel', 'channel'],
      ['start-msec', 'startMs'],
      ['end-msec', 'endMs'],
      ['confidence', 'confidence'],
    ] as const) {
      for (const value of [5.5, true, [], 'abc', '', null, {}]) {
        const message = rightOf(readMessage({ ...json, [name]: value }))
        expect(message).toMatchObject({ message: 'final-result', text: final.text })
        expect(message).not.toHaveProperty(key)
      }
    }
  })

  it('rejects an unknown name without repeating it', () => {
    for (const name of ['very-secret', 'constructor', '__proto__', 'toString', 'recognize', 5, null, undefined, []]) {
      const refusal = { code: 'unknown-message', message: 'The message-name is unknown.' }
      expect(refusalOf(readMessage({ text: '', 'operation-result': '', 'message-name': name }))).toEqual(refusal)
    }
  })
})

describe('isSuccess', () => {
  it('writes success in the letter case of each interface (PROTOCOL 3.1, 4.2)', () => {
    expect([dataflowSuccess, recognizerSuccess]).toEqual(['success', 'Success'])
  })

  it('compares case-insensitively', () => {
    for (const text of [dataflowSuccess, recognizerSuccess, 'SUCCESS']) expect(isSuccess(text)).toBe(true)
  })

  it('treats every other text as a failure', () => {
    for (const text of ['', ' success', 'success.', 'unsuccessful', 'true']) expect(isSuccess(text)).toBe(false)
    fc.assert(fc.property(fc.string(), (text) => isSuccess(text) === (text.toLowerCase() === 'success')))
  })
})
