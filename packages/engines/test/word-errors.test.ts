import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alignWords, comparedWords, countErrors, wordErrorRate } from '../src/word-errors.js'

const compare = (said: string, read: string) => countErrors(alignWords(comparedWords(said), comparedWords(read)))

/** The fewest changes, by the definition of the Levenshtein distance. */
const distance = (a: readonly string[], b: readonly string[]): number => {
  const [firstOfA, ...restOfA] = a
  const [firstOfB, ...restOfB] = b
  if (firstOfA === undefined || firstOfB === undefined) return a.length + b.length
  if (firstOfA === firstOfB) return distance(restOfA, restOfB)
  return 1 + Math.min(distance(restOfA, restOfB), distance(restOfA, b), distance(a, restOfB))
}

/** The same by the dynamic program of Wagner and Fischer, over the whole table. */
const wagnerFischer = (a: readonly string[], b: readonly string[]): number => {
  const table = Array.from({ length: a.length + 1 }, (_row, i) =>
    Array.from({ length: b.length + 1 }, (_cell, j) => i || j),
  )
  const cell = (i: number, j: number): number => table[i]?.[j] ?? Infinity
  for (const [i, wordOfA] of a.entries()) {
    for (const [j, wordOfB] of b.entries()) {
      const row = table[i + 1] ?? []
      row[j + 1] = Math.min(cell(i, j) + (wordOfA === wordOfB ? 0 : 1), cell(i, j + 1) + 1, cell(i + 1, j) + 1)
    }
  }
  return cell(a.length, b.length)
}

describe('the errors of a transcript', () => {
  it('are counted by kind', () => {
    expect(compare('one two three four', 'one too three')).toEqual({
      words: 4,
      right: 2,
      substituted: 1,
      inserted: 0,
      deleted: 1,
    })
    expect(compare('one', 'zero one two')).toEqual({ words: 1, right: 1, substituted: 0, inserted: 2, deleted: 0 })
    expect(compare('', 'one')).toEqual({ words: 0, right: 0, substituted: 0, inserted: 1, deleted: 0 })
  })

  it('keep as many words right as possible', () => {
    expect(compare('how can i help', 'how can help you')).toMatchObject({ right: 3, substituted: 0 })
  })

  it('ignore letter case and punctuation, in any script', () => {
    expect(compare('Don’t stop – “Ärger”, नमस्ते!', 'dont stop ärger नमस्ते')).toMatchObject({ words: 4, right: 4 })
    expect(compare('İstanbul IŞIK Straße ΟΔΟΣ', 'istanbul ışık STRASSE οδος')).toMatchObject({ words: 4, right: 4 })
    expect(compare('a – b', 'a b')).toMatchObject({ words: 2, right: 2 })
    expect(compare('a—b,c…d...e/f?!g, h', 'a b c d e f g h')).toMatchObject({ words: 8, right: 8 })
    expect(compare('1,000 u.s. e-mail 10:30 3.5', '1000 us email 1030 35')).toMatchObject({ words: 5, right: 5 })
  })

  it('count characters where words are written without spaces', () => {
    const said = '今日はとても良い天気ですね。'
    expect(compare(said, '今日 は とても 悪い 天気 です ね')).toMatchObject({ words: 13, right: 12, substituted: 1 })
    expect(compare('OKです', 'ok です')).toMatchObject({ words: 3, right: 3 })
    expect(compare('ｺｰﾋｰ', 'コーヒー')).toMatchObject({ words: 4, right: 4 })
    expect(compare('สวัสดี', 'สวัสดิ')).toMatchObject({ words: 4, right: 3, substituted: 1 })
  })

  it('are those of the dynamic program of Wagner and Fischer, for longer texts, written any way', () => {
    const words = fc.array(fc.constantFrom('one', 'two', 'three', 'Four', 'five,'), { maxLength: 40 })
    fc.assert(
      fc.property(words, words, (said, read) => {
        const { words: count, right, substituted, inserted, deleted } = compare(said.join(' '), read.join('\n'))
        expect(substituted + inserted + deleted).toBe(wagnerFischer(said, read))
        // H + S + D = N, H + S + I = the words that were read.
        expect([right + substituted + deleted, right + substituted + inserted]).toEqual([said.length, read.length])
        expect(count).toBe(said.length)
      }),
    )
  })

  it('are the fewest changes, and the alignment has all words of both in order', () => {
    const words = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 6 })
    fc.assert(
      fc.property(words, words, (said, read) => {
        const aligned = alignWords(said, read)
        const { substituted, inserted, deleted } = countErrors(aligned)
        expect(substituted + inserted + deleted).toBe(distance(said, read))
        expect(aligned.flatMap((pair) => pair.said ?? [])).toEqual(said)
        expect(aligned.flatMap((pair) => pair.read ?? [])).toEqual(read)
      }),
    )
  })

  it('have a rate per word that was said', () => {
    expect(wordErrorRate(compare('one two three four', 'one too three'))).toBe(0.5)
    expect(wordErrorRate(compare('one', 'a b'))).toBe(2)
    expect(wordErrorRate(compare('one', 'one'))).toBe(0)
    expect(wordErrorRate(compare('', ''))).toBe(0)
    expect(wordErrorRate(compare('', 'one'))).toBe(Infinity)
  })

  it('are not counted in texts that would take too much memory', () => {
    const words = Array.from({ length: 20_000 }, () => 'a')
    expect(() => alignWords(words, words)).toThrow('20000 and 20000 words are too many to compare')
  })
})
