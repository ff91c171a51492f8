import type { GrammarArc, GrammarGraph } from './grammar-graph.js'

/** The arcs of a graph that can be extended. State 0 is the start. */
class GrowingGraph {
  readonly arcs: GrammarArc[] = []
  stateCount: number
  readonly #next = new Map<string, number>()

  constructor(stateCount: number) {
    this.stateCount = stateCount
  }

  newState(): number {
    this.stateCount += 1
    return this.stateCount - 1
  }

  /** The state after a word. What begins the same shares its states. */
  after(from: number, word: string, weight: number): number {
    const key = `${from} ${word}`
    const known = this.#next.get(key)
    if (known !== undefined) return known
    const to = this.newState()
    this.#next.set(key, to)
    this.arcs.push({ from, to, word, weight })
    return to
  }
}

/**
 * The graph of a grammar and of phrases, as if these were further alternatives of its public rule, all as likely. The
 * start has a state of its own, because that of the grammar may also follow words.
 */
export const withPhrases = (graph: GrammarGraph, phrases: readonly string[]): GrammarGraph => {
  const sentences = [...new Set(phrases)]
  const share = -Math.log(sentences.length + 1)
  const grown = new GrowingGraph(graph.stateCount + 1)
  const final = graph.final + 1
  for (const { from, to, word, weight } of graph.arcs) {
    grown.arcs.push({ from: from + 1, to: to + 1, word, weight })
    if (from === 0) grown.arcs.push({ from: 0, to: to + 1, word, weight: weight + share })
  }
  for (const sentence of sentences) {
    let at = 0
    for (const word of sentence.split(' ')) at = grown.after(at, word, at === 0 ? share : 0)
    grown.arcs.push({ from: at, to: final, word: undefined, weight: 0 })
  }
  return { stateCount: grown.stateCount, final, arcs: grown.arcs }
}
