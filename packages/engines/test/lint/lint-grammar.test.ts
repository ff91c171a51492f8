import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lintGrammar } from '../../src/lint/lint-grammar.js'

/** The faults below the header, with the text that they are at. */
const faultsOf = (grammar: string): readonly string[] => {
  const text = `#JSGF V1.0;\ngrammar g;\n${grammar}`
  return lintGrammar(text).faults.map(
    ({ severity, message, span }) => `${severity} ${text.slice(span.from, span.to)}: ${message}`,
  )
}

describe('lintGrammar', () => {
  it.each([
    ['public <a> = x [y] <b>* (c | d) {slot} {s=1}; <b> = z;', []],
    [
      'public <a> = <b>; <bb> = x;',
      [
        'error <b>: The rule <b> is not defined; is it <bb>?',
        'warning <bb>: The rule <bb> cannot be reached from <a>.',
      ],
    ],
    [
      'public <a> = x; public <b> = y;',
      ['warning <b>: The rule <b> cannot be reached from <a>; of several public rules only the first counts.'],
    ],
    ['<a> = x;', ['error <a>: No rule is public, so nothing can be said; write: public <rule> = words;']],
    ['', ['error : No rule is public, so nothing can be said; write: public <rule> = words;']],
    [
      `public <a> = ${'('.repeat(20)}x${')+'.repeat(20)};`,
      ['error <a>: The grammar has more than 100000 words, counting a rule wherever it is used; make it smaller.'],
    ],
    ['public <a> = x; <a> = y;', ['error <a>: The rule <a> is defined twice.']],
    ['import <b.*>; public <a> = x;', ['error <b.*>: Engines follow no import; copy the rules into this grammar.']],
    [
      'public <a> = x | x <a>;',
      [
        'warning <a>: <a> refers to itself: its sentences have any length, and noise can add words; a fixed shape is safer.',
      ],
    ],
    [
      'public <a> = x | y <a> z;',
      ['error <a>: <a> refers to itself before its end; engines accept that at the end only.'],
    ],
    ['public <a> = x | <a> y;', ['error <a>: <a> refers to itself before a word, an endless loop.']],
    ['public <a> = x | [z] <a>;', ['error <a>: <a> refers to itself before a word, an endless loop.']],
    [
      'public <a> = x (y | <a>)*;',
      ['error <a>: <a> refers to itself before its end; engines accept that at the end only.'],
    ],
    [
      'public <a> = x <b>; <b> = y | z <a>;',
      [
        'warning <a>: <b> refers to itself by <a>: its sentences have any length, and noise can add words; a fixed shape is safer.',
        'warning <b>: <a> refers to itself by <b>: its sentences have any length, and noise can add words; a fixed shape is safer.',
      ],
    ],
    [
      'public <a> = x | <b>; <b> = y <b>;',
      [
        'error <b>: The rule <b> has no sentence that ends.',
        'warning <b>: <b> refers to itself: its sentences have any length, and noise can add words; a fixed shape is safer.',
      ],
    ],
    ['public <a> = x <VOID>;', ['error <a>: The rule <a> has no sentence that ends.']],
    ['public <a> = [x];', ['warning <a>: <a> can be said without a word, so silence is a sentence.']],
    [
      'public <a> = x ([y])+;',
      ['warning ([y])+: What is repeated here can be empty, an empty cycle; make one of both optional, not both.'],
    ],
    [
      'public <a> = x (y*)*;',
      ['warning (y*)*: What is repeated here can be empty, an empty cycle; make one of both optional, not both.'],
    ],
    ['public <a> = "new york";', ['error "new york": Engines accept no words in quotes; remove the quotes.']],
    [
      'public <a> = x {two words};',
      ['warning {two words}: This tag sets no slot; write {name}, {name=value} or {=value}.'],
    ],
    ['public <a> = (x | y; <b> = z;', ['error (: The bracket ( is not closed.']],
    [
      'public <a> = x | ; public <b> = y | | z;',
      [
        'error ;: A word or a rule is missing here; write <NULL> for nothing.',
        'error |: A word or a rule is missing here; write <NULL> for nothing.',
      ],
    ],
    ['public <a> = x\npublic <b> = y;', ['error =: "=" cannot be here; is the ";" of the rule before it missing?']],
    ['public <a> = x', ['error x: The end of the file cannot be here; ";" is expected.']],
    ['public <a> = x # y;', ['error #: "#" cannot be here.']],
    ['public <a> = /x/ y;', ['error /: "/" cannot be here.']],
    ['public <a> = /1.2.3/ y;', ['error /1.2.3/: A weight must be a number, such as /0.5/.']],
    ['hello', ['error hello: A rule is expected here, such as: public <order> = tea | coffee;']],
  ] as const)('%s', (grammar, faults) => {
    expect(faultsOf(grammar)).toEqual(faults)
  })

  it('reports a missing header, brackets without an end, and too many rules, and never fails', () => {
    expect(lintGrammar('public <a> = x;').faults).toMatchObject([{ severity: 'warning', span: { from: 0 } }])
    expect(faultsOf(`public <a> = ${'('.repeat(50_000)}`)).toMatchObject([
      expect.stringContaining('nested more than 100 deep'),
    ])
    expect(faultsOf(`public <a> = x${'*'.repeat(50_000)};`)).toMatchObject([
      expect.stringContaining('More than 100 signs'),
    ])
    const rules = Array.from({ length: 20_000 }, (_, at) => `<r${at}> = <r${at + 1}>;`).join('\n')
    expect(faultsOf(`public <a> = <r0>; ${rules} <r20000> = x;`)).toMatchObject([
      expect.stringContaining('more than 2000 rules'),
    ])
  })

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void lintGrammar(text)))
    const parts = [
      'public ',
      '<a>',
      '<b>',
      '=',
      ';',
      '|',
      '(',
      ')',
      '[',
      ']',
      '*',
      '+',
      '{t}',
      '/2/',
      'x',
      '"',
      'import ',
      '//',
      '\n',
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts)), (text) => void lintGrammar(`#JSGF V1.0;\n${text.join(' ')}`)),
    )
  })
})
