import { describe, expect, it } from 'vitest'
import { errorTextOf, readTranscript } from '../../src/openai/transcript.js'
import { parseJson } from '../../../../src/protocol/parse-json.js'

const word = (text: unknown, start: unknown, end: unknown, probability?: number) => ({
  word: text,
  start,
  end,
  ...(probability !== undefined && { probability }),
})

const read = (text: string, startMs: number, endMs: number, confidence?: number) => ({
  text,
  startMs,
  endMs,
  ...(confidence !== undefined && { confidence: expect.closeTo(confidence, 6) as unknown }),
})

const segment = (text: string, more: object = {}) => ({ id: 0, start: 0, end: 1, text, ...more })

describe('the answer of a transcription server', () => {
  it.each<readonly [string, object, object]>([
    ['in the short form', { text: ' Hello\n world. ' }, { text: 'Hello world.' }],
    ['without a text, of segments', { segments: [segment(' Hello'), segment(' world.')] }, { text: 'Hello world.' }],
    ['that is empty', { text: '', segments: [], words: [] }, { text: '' }],
    [
      'with words at the top that begin with a space',
      { text: ' Hello world.', words: [word(' Hello', 0.1, 0.4, 0.5), word(' world.', 0.4, 0.8, 0.9)] },
      { text: 'Hello world.', words: [read('Hello', 100, 400, 0.5), read('world.', 400, 800, 0.9)] },
    ],
    [
      'with words without punctuation, which the text has',
      { text: 'Hello, world!', words: [word('hello', 0, 0.3), word('world', 0.3, 0.6)] },
      { words: [read('Hello,', 0, 300), read('world!', 300, 600)] },
    ],
    [
      'with the key text in place of word',
      { text: 'hello', words: [{ text: 'hello', start: 0, end: 0.3 }] },
      { words: [read('hello', 0, 300)] },
    ],
    [
      'with tokens as words, in the segments',
      {
        text: ' Dashwood said\n so.',
        segments: [
          segment(' Dashwood said', {
            words: [word(' Dash', 0, 0.2, 0.25), word('wood', 0.2, 0.4, 1), word(' said', 0.4, 0.6, 1)],
          }),
          segment(' so.', { words: [word(' so', 0.6, 0.8, 1), word('.', 0.8, 0.9, 0.1)] }),
        ],
      },
      {
        text: 'Dashwood said so.',
        words: [read('Dashwood', 0, 400, 0.5), read('said', 400, 600), read('so.', 600, 800)],
      },
    ],
    [
      'in a script without spaces, with a word for each piece',
      { text: '你好。', words: [word('你', 0, 0.2), word('好', 0.2, 0.4)] },
      { words: [read('你', 0, 200), read('好', 200, 400)] },
    ],
    [
      'with times beyond the audio, backwards and as text',
      { text: 'a b', words: [word('a', '-1', '0.5'), word('b', 0.9, 29.98)] },
      { words: [read('a', 0, 500), read('b', 900, 1000)] },
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
    ['words of another text', { words: [word('b', 0, 1)] }],
    ['more words than the text has', { words: ['a', 'b'].map((each) => word(each, 0, 1)) }],
    ['fewer words than the text has', { text: 'a c', words: [word('a', 0, 1)] }],
    ['words without times', { words: [word('a', null, null)] }],
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
