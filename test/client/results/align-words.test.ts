import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { repeatedWords, wordsOf } from '../../../src/client/results/channel-text.js'

const repeated = (committed: string, following: string): number => repeatedWords(wordsOf(committed), wordsOf(following))

describe('repeatedWords', () => {
  it.each([
    ['one two three', 'two three four', 2],
    ['one two three', 'two', 1],
    ['one two three', 'four five', 0],
    ['one two', 'one two', 2],
    ['', 'one', 0],
    ['one', '', 0],
    ['Well, yes.', 'well yes and', 2],
    ['one YES', 'yes two', 1],
    // The longest match counts.
    ['no no no', 'no no no yes', 3],
    // The first word was cut in two by the start of the replay.
    ['I would like some coffee', 'ike some coffee please', 3],
    // One word in four may differ.
    ['we want three tickets', 'we want free tickets please', 4],
    ['we want three', 'we want free tickets please', 0],
    ['one two', 'one three four', 0],
    // Only text after the committed words is compared.
    ['some coffee', 'ike some coffee please', 0],
  ])('of “%s” and “%s” are %d', (committed, following, count) => {
    expect(repeated(committed, following)).toBe(count)
  })

  it('finds every overlap of words that are all different', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.nat(40), fc.nat(20), (length, overlap, more) => {
        const words = Array.from({ length: length + more }, (_, index) => `w${index}`)
        const from = Math.max(0, length - overlap)
        expect(repeatedWords(words.slice(0, length), words.slice(from))).toBe(length - from)
      }),
    )
  })

  it('splits at any white space and nowhere else', () => {
    expect(wordsOf('  one\ttwo\n three ')).toEqual(['one', 'two', 'three'])
    expect(wordsOf('')).toEqual([])
  })
})
