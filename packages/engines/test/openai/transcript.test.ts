import { describe, expect, it } from 'vitest'
import { errorTextOf, readTranscript } from '../../src/openai/transcript.js'
import { parseJson } from '../../../../src/protocol/parse-json.js'

const segment = (text: string, more: object = {}) => ({ id: 0, start: 0, end: 1, text, ...more })

describe('the answer of a transcription server', () => {
  it.each<readonly [string, object, object]>([
    ['in the short form', { text: ' Hello\n world. ' }, { text: 'Hello world.' }],
    ['without a text, of segments', { segments: [segment(' Hello'), segment(' world.')] }, { text: 'Hello world.' }],
    ['that is empty', { text: '', segments: [], words: [] }, { text: '' }],
    [
      'with words at the top that begin with a space',
      {
        text: ' Hello world.',
        words: [
          { word: ' Hello', start: 0.1, end: 0.4, probability: 0.5 },
          { word: ' world.', start: 0.4, end: 0.8, probability: 0.9 },
        ],
      },
      {
        text: 'Hello world.',
        words: [
          { text: 'Hello', startMs: 100, endMs: 400, confidence: expect.closeTo(0.5, 6) as unknown },
          { text: 'world.', startMs: 400, endMs: 800, confidence: expect.closeTo(0.9, 6) as unknown },
        ],
      },
    ],
    [
      'with words without punctuation, which the text has',
      {
        text: 'Hello, world!',
        words: [
          { word: 'hello', start: 0, end: 0.3 },
          { word: 'world', start: 0.3, end: 0.6 },
        ],
      },
      {
        words: [
          { text: 'Hello,', startMs: 0, endMs: 300 },
          { text: 'world!', startMs: 300, endMs: 600 },
        ],
      },
    ],
    [
      'with the key text in place of word',
      { text: 'hello', words: [{ text: 'hello', start: 0, end: 0.3 }] },
      { words: [{ text: 'hello', startMs: 0, endMs: 300 }] },
    ],
    [
      'with tokens as words, in the segments',
      {
        text: ' Dashwood said\n so.',
        segments: [
          segment(' Dashwood said', {
            words: [
              { word: ' Dash', start: 0, end: 0.2, probability: 0.25 },
              { word: 'wood', start: 0.2, end: 0.4, probability: 1 },
              { word: ' said', start: 0.4, end: 0.6, probability: 1 },
            ],
          }),
          segment(' so.', {
            words: [
              { word: ' so', start: 0.6, end: 0.8, probability: 1 },
              { word: '.', start: 0.8, end: 0.9, probability: 0.1 },
            ],
          }),
        ],
      },
      {
        text: 'Dashwood said so.',
        words: [
          { text: 'Dashwood', startMs: 0, endMs: 400, confidence: expect.closeTo(0.5, 6) as unknown },
          { text: 'said', startMs: 400, endMs: 600 },
          { text: 'so.', startMs: 600, endMs: 800 },
        ],
      },
    ],
    [
      'in a script without spaces, with a word for each piece',
      {
        text: '你好。',
        words: [
          { word: '你', start: 0, end: 0.2 },
          { word: '好', start: 0.2, end: 0.4 },
        ],
      },
      {
        words: [
          { text: '你', startMs: 0, endMs: 200 },
          { text: '好', startMs: 200, endMs: 400 },
        ],
      },
    ],
    [
      'with times beyond the audio, backwards and as text',
      {
        text: 'a b',
        words: [
          { word: 'a', start: '-1', end: '0.5' },
          { word: 'b', start: 0.9, end: 29.98 },
        ],
      },
      {
        words: [
          { text: 'a', startMs: 0, endMs: 500 },
          { text: 'b', startMs: 900, endMs: 1000 },
        ],
      },
    ],
    [
      'with statistics',
      {
        text: 'a b',
        duration: '1.0',
        segments: [
          segment('aa', { avg_logprob: Math.log(0.5), no_speech_prob: 0.9 }),
          segment('bbbbbb', { avg_logprob: Math.log(0.9), no_speech_prob: 0.1 }),
        ],
      },
      { confidence: expect.closeTo(0.8, 6) as unknown, noSpeechProbability: 0.1 },
    ],
  ])('%s', (_name, answer, reading) => {
    expect(readTranscript({ ...answer }, 1000)).toMatchObject(reading)
  })

  it.each<readonly [string, object]>([
    ['-1 in place of statistics', { segments: [segment('a', { avg_logprob: -1, no_speech_prob: -1 })] }],
    ['0 in place of statistics', { segments: [segment('a', { avg_logprob: 0, no_speech_prob: 0 })] }],
    ['words of another text', { words: [{ word: 'b', start: 0, end: 1 }] }],
    ['more words than the text has', { words: ['a', 'b'].map((word) => ({ word, start: 0, end: 1 })) }],
    ['fewer words than the text has', { text: 'a c', words: [{ word: 'a', start: 0, end: 1 }] }],
    ['words without times', { words: [{ word: 'a', start: null, end: null }] }],
    ['words and segments of a wrong type', { words: 'a', segments: [null, 3] }],
  ])('has no words and no confidence of %s', (_name, answer) => {
    const { text, ...others } = readTranscript({ text: 'a', ...answer }, 1000) ?? { text: '' }
    expect(text).toMatch(/^a( c)?$/)
    expect(others).toEqual({})
  })

  it.each([{}, { error: { message: 'no' } }, { text: 3 }, { segments: [] }])(
    'is undefined without a text: %j',
    (answer) => {
      expect(readTranscript(answer, 1000)).toBeUndefined()
    },
  )
})

describe('the text of an error', () => {
  it.each([
    ['{"error":{"message":"no such model","type":"x"}}', 'no such model'],
    ['{"error":"no key"}', 'no key'],
    ['{"detail":"not audio"}', 'not audio'],
    ['{"detail":{"error":{"message":"bad format","type":"x"}}}', 'bad format'],
    ['{"detail":[{"loc":["body","prompt"],"msg":"too long","input":"what was said"}]}', 'too long'],
    ['{"message":"no"}', 'no'],
    ['Invalid request', 'Invalid request'],
    ['["x"]', ''],
    ['{"detail":[]}', ''],
    ['', ''],
  ])('of %s', (body, text) => {
    expect(errorTextOf(body, parseJson(body))).toBe(text)
  })
})
