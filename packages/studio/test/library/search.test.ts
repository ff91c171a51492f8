import { describe, expect, it } from 'vitest'
import { hitsIn, matchIn, normalized, searchTextOf } from '../../src/library/search.js'
import { documentOf, lineOf } from './transcripts.js'

const document = documentOf({
  lines: [
    lineOf(1, 0, 'Good morning, how can I help you this good morning?', 500),
    lineOf(2, 1, 'A café — don’t you know', 6000),
    lineOf(3, 0, 'the number is two two two', 9000),
  ],
})

describe('the search within a transcript', () => {
  it('finds words and parts of them, whatever their case, accents and punctuation are', () => {
    expect(hitsIn(document, 'GOOD MORNING')).toEqual([
      { line: 1, fromWord: 0, toWord: 1 },
      { line: 1, fromWord: 8, toWord: 9 },
    ])
    expect(hitsIn(document, 'morning how')).toEqual([{ line: 1, fromWord: 1, toWord: 2 }])
    expect(hitsIn(document, 'ornin')).toHaveLength(2)
    expect(hitsIn(document, 'cafe dont')).toEqual([{ line: 2, fromWord: 1, toWord: 3 }])
    expect(hitsIn(document, 'two')).toHaveLength(3)
  })

  it('finds nothing for nothing', () => {
    expect(hitsIn(document, ' ?! ')).toEqual([])
    expect(hitsIn(document, 'evening')).toEqual([])
    expect(hitsIn(document, 'you this a')).toEqual([])
  })

  it('knows scripts with marks and without spaces', () => {
    expect(normalized('Ångström, Überfall')).toBe('angstrom uberfall')
    expect(hitsIn(documentOf({ lines: [lineOf(1, 0, '我想预订 今天晚上', 0)] }), '今天')).toEqual([
      { line: 1, fromWord: 1, toWord: 1 },
    ])
    expect(hitsIn(documentOf({ lines: [lineOf(1, 0, 'मुझे हिन्दी', 0)] }), 'हिन्दी')).toHaveLength(1)
  })
})

describe('the search across sessions', () => {
  const text = searchTextOf(document)

  it('shows the line around the first place, and counts all', () => {
    expect(matchIn(text, 'help you')).toEqual({
      before: '… morning, how can I',
      found: 'help you',
      after: 'this good morning?',
      count: 1,
    })
    expect(matchIn(text, 'two')).toMatchObject({ before: 'the number is', found: 'two', after: 'two two', count: 3 })
    expect(matchIn(text, 'dont')).toMatchObject({ before: 'A café —', found: 'don’t', after: 'you know' })
    expect(matchIn(text, 'good')).toMatchObject({ before: '', found: 'Good', count: 2 })
  })

  it('finds nothing for nothing, and no text across two lines', () => {
    expect(matchIn(text, '')).toBeUndefined()
    expect(matchIn(text, 'morning a')).toBeUndefined()
  })
})
