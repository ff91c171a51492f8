import { describe, expect, it } from 'vitest'
import { Agreement } from '../../src/offline/agreement.js'
import { joinWords, wordsOf } from '../../src/offline/text-words.js'

const words = (text: string) => wordsOf({ text }, 16)
const after = (...readings: readonly string[]) => {
  const agreement = new Agreement()
  const shown = readings.map((text) => agreement.add(words(text)))
  return {
    agreement,
    shown: shown.map(({ text, stableLength }) => `${text.slice(0, stableLength)}|${text.slice(stableLength)}`),
  }
}

describe('the text of readings in a row', () => {
  it('commits the words that two have in common, without case and punctuation, but not the last one', () => {
    expect(after('Good', 'good evening', 'Good evening, harbour', 'Good evening harbor grill').shown).toEqual([
      '|Good',
      'good| evening',
      'good evening,| harbour',
      'good evening,| harbor grill',
    ])
  })

  it('keeps committed words as they were written, whatever later readings have in their place', () => {
    expect(
      after('we will see', 'we will see', 'he will see you', 'He will. See you', 'will see you there').shown,
    ).toEqual(['|we will see', 'we will| see', 'we will see| you', 'we will see| you', 'we will see you| there'])
  })

  it('does not count a reading that is only shown', () => {
    const agreement = new Agreement()
    agreement.add(words('and mr john'), false)
    expect(agreement.add(words('and mr john dash'))).toEqual({ text: 'and mr john dash', stableLength: 0 })
  })

  it('commits characters of a script without spaces', () => {
    expect(after('今天天气', '今天天气好').shown).toEqual(['|今天天气', '今天天气|好'])
  })
})

const resultOf = (readings: readonly string[], final: string) => after(...readings).agreement.finish(words(final))

describe('the result', () => {
  it('is the last reading, where it has the committed words', () => {
    const result = resultOf(['go forward ten', 'go forward ten'], 'Go forward ten meters.')
    expect(joinWords(result)).toBe('Go forward ten meters.')
    expect(result.map(({ isAgreed }) => isAgreed)).toEqual([true, true, true, false])
  })

  it('keeps committed words that the last reading changes or lacks', () => {
    const readings = ['four queen of clubs now', 'four queen of clubs now please']
    expect(joinWords(resultOf(readings, 'four queen of clothes now please'))).toBe('four queen of clubs now please')
    expect(joinWords(resultOf(readings, 'four of clubs now please'))).toBe('four queen of clubs now please')
    expect(joinWords(resultOf(readings, ''))).toBe('four queen of clubs now')
  })

  it('has what the last reading adds before and between committed words', () => {
    const readings = ['Mr John had leisure', 'Mr John had leisure to']
    expect(joinWords(resultOf(readings, 'And Mr. John Dashwood had leisure to consider'))).toBe(
      'And Mr. John Dashwood had leisure to consider',
    )
  })

  it('counts a word as agreed that one reading had behind the committed words', () => {
    const { agreement } = after('yes')
    expect(agreement.finish(words('Yes, please')).map(({ isAgreed }) => isAgreed)).toEqual([true, false])
  })
})

describe('a cut', () => {
  it('leaves the committed words behind it to the rest', () => {
    const { agreement } = after('one two three four five', 'one two three four five six')
    const { words: decided, next } = agreement.cut(words('One, two, three'), 0)
    expect(joinWords(decided)).toBe('One, two, three')
    expect(next.add(words('four five six'))).toEqual({ text: 'four five six', stableLength: 9 })
  })

  it('takes all committed words if the reading goes beyond them', () => {
    const { agreement } = after('one two three', 'one two three four')
    const { words: decided, next } = agreement.cut(words('one two tree four'), 0)
    expect(joinWords(decided)).toBe('one two three four')
    expect(next.size).toBe(0)
  })
})

describe('the words of a reading', () => {
  it('have the punctuation and the spaces of the text', () => {
    const reading = {
      text: ' "Hello," he said - twice.',
      words: ['Hello', 'he', 'said', 'twice'].map((text, index) => ({
        text,
        startMs: index * 100,
        endMs: index * 100 + 90,
      })),
    }
    const found = wordsOf(reading, 16)
    expect(found.map(({ key }) => key)).toEqual(['hello', 'he', 'said', 'twice'])
    expect(joinWords(found)).toBe('Hello," he said - twice.')
    expect(found[1]?.span).toEqual({ from: 1600, to: 3040 })
  })

  it('are no descriptions of sounds', () => {
    expect(joinWords(words('[Music] hello (laughs) there >> ♪ la la ♪ you'))).toBe('hello there you')
    expect(words('[BLANK_AUDIO]')).toEqual([])
    expect(words('( ( ( (beep) (beep')).toEqual([])
  })
})
