import { describe, expect, it } from 'vitest'
import { splitWords, wordsOf } from '../src/state/words.js'

const milestone = { type: 'milestone', text: ' hello i would like', startMs: 1000, endMs: 3000 } as const
const partial = (text: string, endMs: number) => ({ words: splitWords(text), endMs })

describe('the words of a milestone', () => {
  it('has the times and the confidence of the service', () => {
    const words = [{ text: ' hello', startMs: 1100, endMs: 1500, confidence: 0.7 }]
    expect(wordsOf({ ...milestone, words }, [])).toEqual([
      { text: 'hello', startMs: 1100, endMs: 1500, confidence: 0.7, times: 'service' },
    ])
  })

  it('ends where the first partial had it and all words before it', () => {
    const partials = [
      partial('no', 1200),
      partial('hello', 1400),
      partial('hello i wood', 1700),
      partial('hello i would', 2000),
    ]
    expect(wordsOf(milestone, partials).map(({ text, startMs, endMs }) => [text, startMs, endMs])).toEqual([
      ['hello', 1000, 1400],
      ['i', 1400, 1700],
      ['would', 1700, 2000],
      ['like', 2000, 3000],
    ])
  })

  it('shares the audio by the length of words without partials', () => {
    const words = wordsOf({ ...milestone, text: 'ab abcdef', confidence: 0.9 }, [])
    expect(words).toEqual([
      { text: 'ab', startMs: 1000, endMs: 1500, confidence: 0.9, times: 'estimate' },
      { text: 'abcdef', startMs: 1500, endMs: 3000, confidence: 0.9, times: 'estimate' },
    ])
  })

  it('is empty for a milestone without text', () => {
    expect(wordsOf({ ...milestone, text: ' ' }, [])).toEqual([])
  })
})
