import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import {
  readRecognizerRequest,
  writeRecognizerRequest,
  type RecognizeRequest,
} from '../../src/protocol/recognizer-requests.js'
import { recognizerRequest } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'

/** Every key of the model, so that a new one has to be given its bytes here. */
const full: Required<RecognizeRequest> & { request: 'recognize' } = {
  request: 'recognize',
  audioFormat: 'pcm',
  modelName: 'English',
  modelTenant: 'Default',
  modelVersion: '2',
  sampleRateHz: 16000,
  audioSplitter: 'audio-segmenter',
  vadSensitivity: 6,
  vadPreSpeechBufferMs: 300,
  vadPostSpeechBufferMs: 400,
  vadMaxSpeechDurationMs: -1,
  vadSilenceTriggerMs: 401,
  vadGracefulSilenceThresholdMs: 10000,
}
const fullJson = JSON.parse(writeRecognizerRequest(full)) as Readonly<Record<string, unknown>>
const read = (message: unknown) => readRecognizerRequest(JSON.stringify(message))

describe('a recognizer request', () => {
  keepsTheLawsOfAReader({ read: readRecognizerRequest, write: writeRecognizerRequest, messages: recognizerRequest })

  it('has the bytes of service.md 4.2', () => {
    expect(writeRecognizerRequest(full)).toBe(
      '{"message-name":"recognize","audio-format":"pcm","model-name":"English","model-tenant":"Default",' +
        '"model-version":"2","sample-rate":16000,"audio-splitter":"audio-segmenter","vad-sensitivity":6,' +
        '"vad-pre-speech-buffer-msec":300,"vad-post-speech-buffer-msec":400,"vad-max-speech-duration-msec":-1,' +
        '"vad-silence-trigger-msec":401,"vad-graceful-silence-threshold-msec":10000}',
    )
    expect(writeRecognizerRequest({ request: 'stop-recognition' })).toBe('{"message-name":"stop-recognition"}')
    expect(writeRecognizerRequest({ request: 'finalize-recognition' })).toBe('{"message-name":"finalize-recognition"}')
  })

  it('takes whole numbers as strings', () => {
    const strings = Object.fromEntries(Object.entries(fullJson).map(([name, value]) => [name, String(value)]))
    expect(rightOf(read(strings))).toEqual(full)
  })

  it('refuses every missing or ill-typed field by its name, and names the request', () => {
    const integers = Object.keys(fullJson).filter((name) => typeof fullJson[name] === 'number')
    expect(integers).toHaveLength(7)
    const texts = ['model-name', 'model-tenant', 'model-version']
    const words = ['audio-format', 'audio-splitter']
    const cases = [
      ...integers.map((name) => [name, [5.5, true, [], 'abc', null, {}, '']] as const),
      ...texts.map((name) => [name, [5.5, true, [], null, {}]] as const),
      ...words.map((name) => [name, [5.5, true, [], 'abc', null, 'PCM']] as const),
      ...['audio-format', 'model-name', 'sample-rate'].map((name) => [name, [undefined]] as const),
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

  it('never says the value that it refuses', () => {
    for (const name of Object.keys(fullJson).filter((one) => one !== 'message-name')) {
      expect(refusalOf(read({ ...fullJson, [name]: ['very-secret'] })).message).not.toContain('secret')
    }
  })

  it('refuses an unknown or missing name by itself, cut to 60 characters', () => {
    const said = 'send recognize, stop-recognition or finalize-recognition.'
    expect(refusalOf(read({ 'message-name': 'begin' }))).toEqual({
      code: 'unknown-message',
      message: `message-name "begin" is unknown; ${said}`,
    })
    expect(refusalOf(read({ 'message-name': 'x'.repeat(1_000_000) })).message.length).toBeLessThan(160)
    for (const name of ['constructor', '__proto__', 'toString', 'Recognize', 'recognize-response']) {
      expect(refusalOf(read({ ...fullJson, 'message-name': name })).code).toBe('unknown-message')
    }
    for (const message of [{}, { 'message-name': 5 }, { 'message-name': null }, { MessageName: 'recognize' }]) {
      expect(refusalOf(read(message)).message).toBe(`message-name must be a string; ${said}`)
    }
  })
})
