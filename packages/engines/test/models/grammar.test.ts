import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizeGrammar, phraseGrammar, readDictionary, readGrammar, readPhrases } from '../../src/models/grammar.js'

describe('readGrammar', () => {
  it('finds the words and ignores comments, tags, weights, rules and signs', () => {
    const jsgf = `#JSGF V1.0 UTF-8 en;
      grammar cards; // the deck
      /* public <old> = joker; */
      public <card> = /0.7/ <rank>+ (of {tag of words} | from) [the] <suit>* ;
      <rank> = ace|"ten"|jack; <suit> = clubs | <NULL> | it's;`
    expect(readGrammar(jsgf)).toEqual({
      words: ['of', 'from', 'the', 'ace', 'ten', 'jack', 'clubs', "it's"],
      undefinedRules: [],
      hasPublicRule: true,
    })
  })

  it('reports the rules that are not defined', () => {
    expect(readGrammar('#JSGF V1.0; grammar g; <a> = <b> <c>; <c> = x;')).toMatchObject({
      undefinedRules: ['b'],
      hasPublicRule: false,
    })
  })

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => void readGrammar(text)))
    const jsgfLike = fc.string({
      unit: fc.constantFrom('<', '>', '=', ';', '/', '*', '{', '}', '\\', 'a', ' ', '\n', 'public '),
    })
    fc.assert(fc.property(jsgfLike, (text) => void readGrammar(text)))
  })
})

describe('normalizeGrammar', () => {
  it('writes words as dictionaries have them, and leaves tags', () => {
    const jsgf = normalizeGrammar('public <a> = cafe\u0301 {lʼa} | l’heure {d’\\}e\u0301} | two‑tone {')
    expect(jsgf).toBe("public <a> = café {lʼa} | l'heure {d’\\}é} | two-tone {")
    expect(readGrammar("<a> = café | l'heure;").words).toEqual(['café', "l'heure"])
  })
})

describe('readPhrases', () => {
  it('reads one sentence per line, in lower case, without comments, punctuation, empty lines and doubles', () => {
    const text =
      "# all\r\nTen of Clubs, please!\r\n\r\n  ten of  clubs please # again\nÇa va, d’accord ?\nit's two-tone\n"
    expect(readPhrases(text)).toEqual({ sentences: ['ten of clubs please', "ça va d'accord", "it's two-tone"] })
  })

  it.each(['ten; <x>', 'a | b', 'a (b)', 'a*', '{tag}', 'a="b"', 'a/b'])(
    'reports the line of %s, which is not a sentence',
    (line) => {
      expect(readPhrases(`ten\n\n${line}`)).toMatchObject({ badLine: { number: 3 } })
    },
  )

  it('reads canonically equal words as one, with any apostrophe and hyphen', () => {
    const { sentences } = readPhrases('cafe\u0301 l’heure\ncafé lʼheure\ntwo‑tone')
    expect(sentences).toEqual(["café l'heure", 'two-tone'])
  })

  it('takes as long for a run of marks as for any other text of its length', () => {
    const startMs = performance.now()
    expect(readPhrases(`${'!'.repeat(65_536)}a`).badLine).toMatchObject({ number: 1 })
    expect(performance.now() - startMs).toBeLessThan(1_000)
  })

  it('makes a grammar with the same words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const { sentences } = readPhrases(text)
        const { words, undefinedRules } = readGrammar(phraseGrammar(sentences))
        expect(new Set(words)).toEqual(new Set(sentences.flatMap((sentence) => sentence.split(' '))))
        expect(undefinedRules).toEqual([])
      }),
    )
  })
})

describe('readDictionary', () => {
  it('reads words with their phones, without comments', () => {
    expect(readDictionary(';; mine\nrx  AA R # sound\n\nrx(2) EH K S\ncafe\u0301 k a\n')).toEqual([
      ['rx', 'AA R'],
      ['rx(2)', 'EH K S'],
      ['café', 'k a'],
    ])
  })

  it('reports the line of a word without phones', () => {
    expect(readDictionary('rx AA\nrxspeech\n')).toEqual({ badLine: 2 })
  })
})
