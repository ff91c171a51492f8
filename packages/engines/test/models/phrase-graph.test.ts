import { describe, expect, it } from 'vitest'
import { completeSentences } from '../../src/models/complete-sentences.js'
import { grammarGraph, type GrammarGraph } from '../../src/models/grammar-graph.js'
import { nearWords } from '../../src/models/near-words.js'
import { withPhrases } from '../../src/models/phrase-graph.js'

const graphOf = (rules: string): GrammarGraph => {
  const graph = grammarGraph(`#JSGF V1.0; grammar test; ${rules}`)
  if (graph === undefined) throw new Error('no graph')
  return graph
}

/** The probability of the best way to say a text; 0 if it is no sentence. */
const probabilityOf = ({ arcs, final }: GrammarGraph, text: string): number => {
  const best = (state: number, words: readonly string[]): number => {
    const [word, ...rest] = words
    const weights = arcs.flatMap((arc) => {
      if (arc.from !== state) return []
      if (arc.word === undefined) return word === undefined && arc.to === final ? [arc.weight] : []
      return arc.word === word ? [arc.weight + best(arc.to, rest)] : []
    })
    return Math.max(-Infinity, ...weights)
  }
  return Math.exp(best(0, text.split(' ')))
}

describe('withPhrases', () => {
  const lights = graphOf('public <order> = turn (left | right) | stop;')

  it('adds sentences as further alternatives of the public rule, all as likely, and keeps the others', () => {
    const graph = withPhrases(lights, ['stop now', 'stop here', 'turn around'])
    for (const phrase of ['stop now', 'stop here', 'turn around'])
      expect(probabilityOf(graph, phrase)).toBeCloseTo(1 / 4)
    for (const sentence of ['turn left', 'turn right', 'stop']) {
      expect(probabilityOf(graph, sentence)).toBeCloseTo(probabilityOf(lights, sentence) / 4)
    }
    for (const other of ['turn', 'now', 'stop left', 'turn here', 'stop now here']) {
      expect(probabilityOf(graph, other)).toBe(0)
    }
  })

  it('counts a phrase that is given twice, or is a sentence of the grammar, once', () => {
    expect(probabilityOf(withPhrases(lights, ['go', 'go']), 'go')).toBeCloseTo(1 / 2)
    expect(probabilityOf(withPhrases(lights, ['stop']), 'stop')).toBeCloseTo(1 / 2)
  })

  it('begins phrases at the start alone, also where the grammar comes back to its start', () => {
    const graph = withPhrases(graphOf('public <digits> = (one | two)*;'), ['three'])
    expect(probabilityOf(graph, 'three')).toBeGreaterThan(0)
    expect(probabilityOf(graph, 'one two one')).toBeGreaterThan(0)
    expect(probabilityOf(graph, 'one three')).toBe(0)
    expect(probabilityOf(graph, 'three one')).toBe(0)
  })

  it('decides again which sentences can continue', () => {
    const isComplete = completeSentences(withPhrases(lights, ['stop now', 'turn left', 'go', 'go home']))
    expect(['stop now', 'turn left', 'turn right', 'go home'].map(isComplete)).toEqual([true, true, true, true])
    expect(['stop', 'go', 'turn', 'home'].map(isComplete)).toEqual([false, false, false, false])
    expect(completeSentences(lights)('stop')).toBe(true)
  })
})

describe('nearWords', () => {
  const known = new Set(['weather', 'whether', 'wether', 'ether', 'fete', 'fête', 'from', 'form', 'a', 'i'])
  const near = (word: string): readonly string[] => nearWords(word, (name) => known.has(name))

  it.each([
    ['weathr', ['weather']],
    ['wheather', ['weather', 'whether']],
    ['fromm', ['from']],
    ['fomr', ['form']],
    ['rfom', ['from']],
    ['fêtes', ['fête']],
    ['bether', ['ether', 'wether']],
    ['unlike', []],
    ['1', []],
  ])('of %s are %j', (word, expected) => expect(near(word)).toEqual(expected))

  it('are not the word itself, and not more than are wanted', () => {
    expect(near('from')).toEqual(['form'])
    expect(nearWords('an', () => true, 2)).toHaveLength(2)
  })
})
