import { describe, expect, it } from 'vitest'
import { parseGrammar } from '../../src/models/jsgf.js'
import { addPronunciations, nearestWords, spelledPronunciation } from '../../src/lint/pronunciations.js'
import { choicesOf, SoundAlikes } from '../../src/lint/sound-alikes.js'

const known = new Map<string, (readonly string[])[]>()
addPronunciations(
  `;; a comment
  a AH
  a(2) EY
  r AA R
  x EH K S
  two T UW
  too T UW
  to T UW
  to(2) T AH
  ten T EH N
  den D EH N
  fifty F IH F T IY
  fifteen F IH F T IY N
  speech S P IY CH
  speed S P IY D
  ice AY S
  cream K R IY M
  i AY
  scream S K R IY M
  nophones
  `,
  known,
)

const alikes = (body: string, rules = ''): readonly string[] => {
  const found = new SoundAlikes(known)
  for (const phrases of choicesOf(parseGrammar(`public <a> = ${body}; ${rules}`))) found.compare(phrases)
  return found.faults.map(({ message }) => message.replace(/;.*/, ''))
}

describe('phrases that sound alike', () => {
  it.each([
    ['two | ten', []],
    ['two | too', ['"too" sounds the same as "two"']],
    ['ten | to', []],
    ['too | to', ['"to" sounds the same as "too"']],
    ['ice cream | i scream', ['"i scream" sounds the same as "ice cream"']],
    ['ten | den', ['"den" sounds nearly like "ten"']],
    ['fifty | fifteen', ['"fifteen" sounds nearly like "fifty"']],
    ['ten | ten', ['"ten" is here twice.']],
    ['two (ten | x) | too <b>', ['"too ten" sounds the same as "two ten"']],
    ['two <b> | x', []],
    ['[two] x | [too] x', ['"x" is here twice.', '"too x" sounds the same as "two x"']],
    ['two to', []],
    ['two* | too', []],
    ['unknown | two', []],
  ])('of %s', (body, messages) => {
    expect(alikes(body, '<b> = ten;')).toEqual(messages)
  })

  it('are found in time that grows with the number of phrases, also in a grammar of all ways', () => {
    const many = Array.from({ length: 30_000 }, (_, at) => `two ten ${'x '.repeat(at % 20)}r${at}`).join(' | ')
    expect(alikes(many)).toEqual([])
    const rules = Array.from({ length: 60 }, (_, at) => `<r${at}> = <r${at + 1}> <r${at + 1}> | x;`).join('\n')
    expect(alikes('<r0> | two', `${rules} <r60> = two | ten;`).length).toBeLessThan(41)
  })
})

describe('suggestions for a word', () => {
  it('are the nearest words', () => {
    expect(nearestWords('speeh', known)).toEqual(['speech', 'speed'])
    expect(nearestWords('screem', known)).toEqual(['scream', 'cream'])
    expect(nearestWords('zzzzzzzz', known)).toEqual([])
  })

  it('are phones of the words and letters that it consists of', () => {
    expect(spelledPronunciation('rxspeech', known)).toBe('AA R EH K S S P IY CH')
    expect(spelledPronunciation('icecream', known)).toBe('AY S K R IY M')
    expect(spelledPronunciation('xa', known)).toBe('EH K S EY')
    expect(spelledPronunciation('q', known)).toBeUndefined()
    expect(spelledPronunciation('', known)).toBe('')
  })
})
