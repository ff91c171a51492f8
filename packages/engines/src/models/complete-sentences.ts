import type { GrammarGraph } from './grammar-graph.js'

/** The states after each word of a state. */
type Following = ReadonlyMap<string, readonly number[]>

const followingOf = ({ stateCount, arcs }: GrammarGraph): readonly Following[] => {
  const following = Array.from({ length: stateCount }, () => new Map<string, number[]>())
  for (const { from, to, word } of arcs) {
    if (word === undefined) continue
    const words = following[from]
    const states = words?.get(word)
    if (states === undefined) words?.set(word, [to])
    else states.push(to)
  }
  return following
}

/**
 * Returns whether a text is a sentence of the grammar that no word can follow. A text that is also the beginning of a
 * longer sentence is none. Without a graph there is no such text.
 */
export const completeSentences = (graph: GrammarGraph | undefined): ((text: string) => boolean) => {
  if (graph === undefined) return () => false
  const following = followingOf(graph)
  const endings = new Set(graph.arcs.flatMap(({ from, word }) => (word === undefined ? [from] : [])))
  return (text) => {
    let states = new Set([0])
    for (const word of text.split(' ')) {
      states = new Set([...states].flatMap((state) => following[state]?.get(word) ?? []))
    }
    return states.size > 0 && [...states].every((state) => endings.has(state) && following[state]?.size === 0)
  }
}
