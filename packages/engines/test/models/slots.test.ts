import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSlotReader, readSlotTag } from '../../src/models/slots.js'

const slotsOf = (grammar: string, sentence: string): unknown =>
  createSlotReader(`#JSGF V1.0;\ngrammar g;\n${grammar}`)?.(sentence === '' ? [] : sentence.split(' '))

const order = `
  public <turn> = (i want | get me) <drink> [and <cake> {cake}] <NULL> {intent=order}
                | (cancel | forget) {intent=cancel} (it | that);
  <drink> = [<size> {size}] (tea | coffee | (flat white) {=flat-white}) {drink};
  <size> = small {=S} | large {=L} | (extra large) {=XL};
  <cake> = cheesecake | carrot cake;`

describe('readSlotTag', () => {
  it.each([
    ['city=berlin', { type: 'slot', name: 'city', value: 'berlin' }],
    [' city = New York, NY ', { type: 'slot', name: 'city', value: 'New York, NY' }],
    ['city=', { type: 'slot', name: 'city', value: '' }],
    ['city', { type: 'slot', name: 'city', value: undefined }],
    [' from-city ', { type: 'slot', name: 'from-city', value: undefined }],
    ['=NYC', { type: 'value', value: 'NYC' }],
    ['a=b=c', { type: 'slot', name: 'a', value: 'b=c' }],
    ['', undefined],
    ['7', undefined],
    ['two words', undefined],
    ['return x;', undefined],
    ['a=b\u001b[31m', undefined],
    ['__proto__=x', undefined],
  ])('{%s}', (tag, meaning) => {
    expect(readSlotTag(tag)).toEqual(meaning)
  })
})

describe('the slots of a sentence', () => {
  it.each([
    ['i want tea', { drink: 'tea', intent: 'order' }],
    ['get me extra large coffee', { size: 'XL', drink: 'coffee', intent: 'order' }],
    [
      'get me large flat white and carrot cake',
      { size: 'L', drink: 'flat-white', cake: 'carrot cake', intent: 'order' },
    ],
    ['forget that', { intent: 'cancel' }],
  ])('"%s"', (sentence, slots) => {
    expect(slotsOf(order, sentence)).toEqual(slots)
  })

  it('applies a tag to the one item before it, and to all in brackets', () => {
    expect(slotsOf('public <a> = book | new magazine {thing};', 'new magazine')).toEqual({ thing: 'magazine' })
    expect(slotsOf('public <a> = (book | new magazine) {thing};', 'new magazine')).toEqual({ thing: 'new magazine' })
    expect(slotsOf('public <a> = book {x} {y=2};', 'book')).toEqual({ x: 'book', y: '2' })
  })

  it('ignores a tag where nothing was spoken, unless it is that of <NULL>', () => {
    const grammar = 'public <a> = go [now] {now=yes} <NULL> {go=yes} (please)* {polite=yes};'
    expect(slotsOf(grammar, 'go')).toEqual({ go: 'yes' })
    expect(slotsOf(grammar, 'go now please')).toEqual({ now: 'yes', go: 'yes', polite: 'yes' })
  })

  it('are in the order of the sentence, and the last value counts', () => {
    const grammar = 'public <a> = <d> to <d> {to}; <d> = (north | south) {d};'
    expect(JSON.stringify(slotsOf(grammar, 'north to south'))).toBe('{"d":"south","to":"south"}')
  })

  it.each(['', 'i want', 'i want tea and', 'tea', 'i want tea please'])(
    '"%s" has none: it is no sentence',
    (sentence) => {
      expect(slotsOf(order, sentence)).toBeUndefined()
    },
  )

  it('joins the words of repetitions', () => {
    const grammar = 'public <n> = call <digit>+ {number} [now {when=now}]*; <digit> = zero {=0} | one {=1} | two {=2};'
    expect(slotsOf(grammar, 'call two zero one')).toEqual({ number: '2 0 1' })
    expect(slotsOf(grammar, 'call one now now')).toEqual({ number: '1', when: 'now' })
    expect(slotsOf(grammar, 'call')).toBeUndefined()
    expect(slotsOf('public <n> = go ([very])+ {much} far;', 'go far')).toBeUndefined()
    expect(slotsOf('public <n> = go ([very])+ {much} far;', 'go very very far')).toEqual({ much: 'very very' })
  })

  it('takes the likeliest reading, and of equal ones the first', () => {
    expect(slotsOf('public <a> = /1/ x {r=one} | /3/ x {r=three} | /2/ x {r=two};', 'x')).toEqual({ r: 'three' })
    expect(slotsOf('public <a> = x {r=one} | x {r=two};', 'x')).toEqual({ r: 'one' })
    expect(slotsOf('public <a> = x (x | y) {first} | x y {second};', 'x y')).toEqual({ second: 'y' })
  })

  it('reads a rule that refers to itself at its end, but not at its beginning', () => {
    expect(slotsOf('public <a> = x {x} [<a>];', 'x x x')).toEqual({ x: 'x' })
    expect(slotsOf('public <a> = <a> y {y} | x;', 'x y')).toBeUndefined()
  })

  it('returns no reader for a grammar without slots, or a text that is not a grammar', () => {
    for (const grammar of [
      '',
      'public <a> = x;',
      'public <a> = x {=y} {not a slot};',
      '<a> = x {y};',
      '\u0000\u0001{a}',
    ]) {
      expect(createSlotReader(grammar)).toBeUndefined()
    }
  })

  it('gives up on a grammar that takes too long, within bounded time', () => {
    const nested = Array.from({ length: 40 }, (_, at) => `<r${at}> = [a] <r${at + 1}>* [a];`).join('\n')
    const grammar = `public <a> = <r0> {x}; ${nested} <r40> = a;`
    const startMs = performance.now()
    expect(slotsOf(grammar, 'a '.repeat(300).trim())).toBeUndefined()
    // Far more than it takes, also on a busy machine; without the bound it takes hours.
    expect(performance.now() - startMs).toBeLessThan(20_000)
  })

  it('reads a rule within itself as deep as the stack permits, and gives up on deeper ones', () => {
    const grammar = 'public <a> = (one [<a>] | two [<a>]) {count=many};'
    const sentence = (words: number): string => Array.from({ length: words }, () => 'one').join(' ')
    expect(slotsOf(grammar, sentence(80))).toEqual({ count: 'many' })
    for (const words of [300, 400, 1_000, 5_000]) expect(slotsOf(grammar, sentence(words))).toBeUndefined()
  })

  it('reads every sentence of a grammar that it makes', () => {
    const word = fc.constantFrom('a', 'b', 'c')
    fc.assert(
      fc.property(
        fc.array(fc.array(word, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
        (sentences) => {
          const body = sentences.map((words, at) => `(${words.join(' ')}) {at=${at}}`).join(' | ')
          const read = createSlotReader(`public <a> = ${body};`)
          sentences.forEach((words) => {
            const first = sentences.findIndex((other) => other.join(' ') === words.join(' '))
            expect(read?.(words)).toEqual({ at: String(first) })
          })
        },
      ),
    )
  })
})
