import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tooLargeGrammar } from '../../src/models/grammar-size.js'
import { parseGrammar } from '../../src/models/jsgf.js'

const excessOf = (jsgf: string): string | undefined => tooLargeGrammar(parseGrammar(jsgf))

/** Rules of which each has the next one in it. */
const nested = (count: number, part: (rule: string) => string, last: string): string =>
  Array.from({ length: count }, (_none, at) => `public <r${at}> = ${part(`<r${at + 1}>`)};`).join('\n') +
  `<r${count}> = ${last};`

describe('the size of a grammar', () => {
  it.each([
    ['rules that use another one twice', nested(20, (rule) => `${rule} ${rule}`, 'red | blue'), /100000 words/],
    ['alternatives that do', nested(20, (rule) => `${rule} | x ${rule}`, 'red'), /100000 words/],
    ['repetitions within repetitions', `public <r> = ${'('.repeat(40)}red${')+'.repeat(40)};`, /100000 words/],
    ['a rule that is defined twice', `${nested(20, (rule) => `${rule} ${rule}`, 'red')} <r20> = x;`, /100000 words/],
    ['optional parts behind one another', `public <r> = x ${'[red] '.repeat(700)};`, /200000 pairs/],
    ['rules of optional parts', nested(10, (rule) => `${rule} ${rule}`, '[red] [blue]'), /200000 pairs/],
    ['repeated parts', nested(10, (rule) => `${rule}* ${rule}*`, 'red | blue'), /200000 pairs/],
  ])('is too large with %s', (_title, jsgf, reason) => {
    expect(jsgf.length).toBeLessThan(200_000)
    expect(excessOf(jsgf)).toMatch(reason)
  })

  it.each([
    ['5,000 sentences', `public <r> = ${Array.from({ length: 5000 }, (_none, at) => `a b${at} c`).join('|')};`],
    ['digits of any number', 'public <r> = <d>+; <d> = one | two | three | four | five | six | seven | eight | nine;'],
    ['recursion', 'public <r> = red | blue <r>;'],
    ['many uses of a rule', `public <r> = ${'<d> '.repeat(16)}; <d> = one | two | three | four | five | six;`],
    ['many rules within rules', nested(5000, (rule) => rule, 'red')],
    ['no rule', ''],
  ])('is right with %s', (_title, jsgf) => {
    expect(excessOf(jsgf)).toBeUndefined()
  })

  it('is measured of any text', () => {
    const jsgfLike = fc.string({
      unit: fc.constantFrom('<a>', '<b>', ' = ', ';', '|', '(', ')*', ')+', '[', ']', ' x ', 'public '),
    })
    fc.assert(fc.property(jsgfLike, (text) => void excessOf(text)))
  })
})
