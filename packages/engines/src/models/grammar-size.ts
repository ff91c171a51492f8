// How large a grammar is once its rules are written out, which decoders do: a rule that uses another one twice, which
// uses a third one twice, and so on, takes gigabytes with a few hundred bytes of text.
import { rootRuleOf, type Expansion, type Grammar, type Rule } from './jsgf.js'
import { visitExpansion } from './slots.js'

/** Words of the grammar with every use of a rule written out; 100,000 take a decoder about half a gigabyte. */
const maxWords = 100_000
/** Pairs of a word and one that can follow it; optional parts behind one another have the square of their number. */
const maxPairs = 200_000

interface Size {
  readonly words: number
  readonly pairs: number
  /** The words with which it can begin, and those with which it can end. */
  readonly first: number
  readonly last: number
  readonly isEmptyPossible: boolean
}

const none: Size = { words: 0, pairs: 0, first: 0, last: 0, isEmptyPossible: false }
const empty: Size = { ...none, isEmptyPossible: true }
const oneWord: Size = { ...none, words: 1, first: 1, last: 1 }

/** Larger numbers add no information, and their products could be infinite. */
const capped = (count: number): number => Math.min(count, 1e9)

const sequence = (a: Size, b: Size): Size => ({
  words: capped(a.words + b.words),
  pairs: capped(a.pairs + b.pairs + a.last * b.first),
  first: capped(a.first + (a.isEmptyPossible ? b.first : 0)),
  last: capped(b.last + (b.isEmptyPossible ? a.last : 0)),
  isEmptyPossible: a.isEmptyPossible && b.isEmptyPossible,
})

const choice = (a: Size, b: Size): Size => ({
  words: capped(a.words + b.words),
  pairs: capped(a.pairs + b.pairs),
  first: capped(a.first + b.first),
  last: capped(a.last + b.last),
  isEmptyPossible: a.isEmptyPossible || b.isEmptyPossible,
})

/** The sizes of rules, each of which is measured once. */
class GrammarMeasure {
  /** Which definition counts of a rule that is defined twice is left to decoders. */
  readonly #rules = new Map<string, Rule[]>()
  readonly #sizes = new Map<string, Size>([
    ['NULL', empty],
    ['VOID', none],
  ])

  constructor({ rules }: Pick<Grammar, 'rules'>) {
    for (const rule of rules) {
      const known = this.#rules.get(rule.name)
      if (known === undefined) this.#rules.set(rule.name, [rule])
      else known.push(rule)
    }
  }

  /** Measures the rules that a rule uses first, without recursion, which would exhaust the stack. */
  ofRule(root: string): Size {
    const entered = new Set<string>()
    const path = [root]
    for (let name = path.at(-1); name !== undefined; name = path.at(-1)) {
      if (this.#sizes.has(name)) path.pop()
      else if (entered.has(name)) this.#sizes.set(name, this.#measure(name))
      else {
        entered.add(name)
        for (const { body } of this.#rules.get(name) ?? []) {
          visitExpansion(body, (part) => {
            if (part.type === 'rule' && !entered.has(part.name)) path.push(part.name)
          })
        }
      }
    }
    return this.#sizes.get(root) ?? none
  }

  #measure(name: string): Size {
    return (this.#rules.get(name) ?? []).map(({ body }) => this.#of(body)).reduce(choice, none)
  }

  #of(part: Expansion): Size {
    switch (part.type) {
      case 'word':
        return oneWord
      case 'rule':
        // A rule that refers to itself leads back, and is not written out again.
        return this.#sizes.get(part.name) ?? none
      case 'tagged':
        return this.#of(part.item)
      case 'repeated': {
        const once = this.#of(part.item)
        const pairs = capped(once.pairs + once.last * once.first)
        if (part.isOptional) return { ...once, pairs, isEmptyPossible: true }
        // Decoders write what occurs at least once twice.
        return { ...once, words: capped(2 * once.words), pairs: capped(2 * pairs) }
      }
      case 'choice':
        return part.alternatives
          .map(({ items }) => items.map((item) => this.#of(item)).reduce(sequence, empty))
          .reduce(choice, none)
    }
  }
}

/** Why a grammar is too large for a decoder, as the end of a sentence; undefined if it is not. */
export const tooLargeGrammar = (grammar: Pick<Grammar, 'rules'>): string | undefined => {
  const root = rootRuleOf(grammar)
  const { words, pairs } = root === undefined ? none : new GrammarMeasure(grammar).ofRule(root.name)
  if (words > maxWords) {
    return `has more than ${maxWords} words, counting a rule wherever it is used; make it smaller.`
  }
  return pairs > maxPairs
    ? `has more than ${maxPairs} pairs of words that can follow one another; have fewer optional or repeated parts behind one another.`
    : undefined
}
