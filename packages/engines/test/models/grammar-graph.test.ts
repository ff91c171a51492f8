import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { phraseGrammar } from '../../src/models/grammar.js'
import { grammarGraph, type GrammarGraph } from '../../src/models/grammar-graph.js'

const graphOf = (body: string, rules = ''): GrammarGraph => {
  const graph = grammarGraph(`#JSGF V1.0;\ngrammar g;\npublic <a> = ${body};\n${rules}`)
  if (graph === undefined) throw new Error('It has no graph.')
  return graph
}

/** The sentences of up to `maxWords` words with their probabilities; of several ways to one sentence the best. */
const sentencesOf = ({ arcs, final }: GrammarGraph, maxWords = 8): Readonly<Record<string, number>> => {
  const sentences: Record<string, number> = {}
  const visit = (state: number, words: readonly string[], weight: number): void => {
    if (state === final) {
      const sentence = words.join(' ')
      sentences[sentence] = Math.max(sentences[sentence] ?? 0, Number(Math.exp(weight).toFixed(6)))
    }
    for (const arc of arcs) {
      if (arc.from !== state || words.length + (arc.word === undefined ? 0 : 1) > maxWords) continue
      visit(arc.to, arc.word === undefined ? words : [...words, arc.word], weight + arc.weight)
    }
  }
  visit(0, [], 0)
  return sentences
}

describe('the graph of a grammar', () => {
  it.each([
    ['ten of clubs', '', { 'ten of clubs': 1 }],
    ['yes | no', '', { yes: 0.5, no: 0.5 }],
    ['/3/ yes | /1/ no', '', { yes: 0.75, no: 0.25 }],
    ['go (left | right)', '', { 'go left': 0.5, 'go right': 0.5 }],
    ['[very] good', '', { good: 0.5, 'very good': 0.5 }],
    ['[a | an] ox', '', { ox: 0.333333, 'a ox': 0.333333, 'an ox': 0.333333 }],
    ['<b> <b>', '<b> = x | y;', { 'x x': 0.25, 'x y': 0.25, 'y x': 0.25, 'y y': 0.25 }],
    ['one {tag} /* note */ two // three', '', { 'one two': 1 }],
    ['one <NULL> two', '', { 'one two': 1 }],
    ["it's l'été rxspeech.", '', { "it's l'été rxspeech.": 1 }],
  ] as const)('of "%s" accepts its sentences with their probabilities', (body, rules, sentences) => {
    expect(sentencesOf(graphOf(`${body}\n`, rules))).toEqual(sentences)
  })

  it('repeats an item any number of times, or at least once', () => {
    expect(Object.keys(sentencesOf(graphOf('go (a | b)*'), 3))).toHaveLength(7)
    expect(sentencesOf(graphOf('x*'), 2)).toEqual({ '': 0.5, x: 0.25, 'x x': 0.125 })
    expect(sentencesOf(graphOf('x+'), 3)).toEqual({ x: 0.5, 'x x': 0.25, 'x x x': 0.125 })
    expect(Object.keys(sentencesOf(graphOf('[x]* y'), 3))).toEqual(expect.arrayContaining(['y', 'x y', 'x x y']))
  })

  it('is that of the first public rule', () => {
    const graph = grammarGraph(
      '#JSGF V1.0 UTF-8 en;\ngrammar g;\n<x> = one;\npublic <b> = <x> two;\npublic <c> = three;',
    )
    expect(graph && sentencesOf(graph)).toEqual({ 'one two': 1 })
  })

  it('has one state for all places that continue in the same way', () => {
    const digits = '(zero | one | two | three)'
    expect(graphOf(`my number is ${digits} ${digits} | ${digits} ${digits}`)).toMatchObject({ stateCount: 7 })
    expect(graphOf('a b c | d b c | c')).toMatchObject({ stateCount: 5 })
  })

  it('of the sample call has a state for about every second word', () => {
    const jsgf = readFileSync(join(__dirname, '../../../../samples/models/Default/call/1/call.gram'), 'utf8')
    expect(grammarGraph(jsgf)?.stateCount).toBeLessThanOrEqual(200)
  })

  it('of phrases accepts just these', () => {
    const sentences = ['go left', 'go right', 'stop at the sign', 'stop']
    const graph = grammarGraph(phraseGrammar(sentences))
    expect(graph && Object.keys(sentencesOf(graph)).toSorted()).toEqual(sentences.toSorted())
  })

  it.each([
    ['recursion', '<a> | b'],
    ['recursion at the end', 'b | c <a>'],
    ['an unknown rule', '<b>'],
    ['<VOID>', 'a <VOID>'],
    ['a word in quotes', '"new york" city'],
    ['an open bracket', '(a | b'],
    ['a wrong bracket', '(a | b]'],
    ['an empty alternative', 'a | | b'],
    ['a weight of zero', '/0/ a | b'],
    ['a rule that is defined twice', 'x; <b> = y; <b> = z'],
    ['an import', 'x; import <y.*>'],
    [
      'rules that are nested too deeply',
      `<r0>; ${Array.from({ length: 9_000 }, (_, at) => `<r${at}> = <r${at + 1}>;`).join(' ')} <r9000> = x`,
    ],
    ['too many states', Array.from({ length: 30_000 }, (_, at) => `w${at}`).join(' | ')],
  ])('is undefined for %s', (_, body) => {
    expect(grammarGraph(`#JSGF V1.0;\ngrammar g;\npublic <a> = ${body};`)).toBeUndefined()
  })

  it.each(['', 'no grammar', '#JSGF V1.0', '#JSGF V1.0; grammar g; <a> = b;'])('is undefined for "%s"', (text) => {
    expect(grammarGraph(text)).toBeUndefined()
  })

  it('has few states also of a long sentence, and of one that is repeated, soon', () => {
    const words = Array.from({ length: 1000 }, (_none, at) => `w${at % 50}`).join(' ')
    expect(grammarGraph(`public <a> = ${words} | x ${words};`)?.stateCount).toBe(1003)
    expect(grammarGraph(`public <a> = (${words})+;`)?.stateCount).toBeGreaterThan(1000)
  })
})
