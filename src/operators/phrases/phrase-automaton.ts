interface State {
  readonly next: Map<string, State>
  /** Words from the start, the length of the phrases that end here. */
  readonly depth: number
  /** The phrases that end here, by their index in the list. */
  readonly phrases: number[]
  /** The longest state that is a suffix of this one. */
  fallback: State | undefined
  /** The longest such state in which a phrase ends. */
  shorter: State | undefined
}

const stateAt = (depth: number): State => ({
  next: new Map(),
  depth,
  phrases: [],
  fallback: undefined,
  shorter: undefined,
})

export type PhraseState = object & { readonly __phraseState?: never }

/** A phrase that ends with the present word. */
export interface PhraseEnd {
  /** Its index in the list of phrases. */
  readonly phrase: number
  readonly wordCount: number
}

/**
 * Finds many phrases in one pass over words (Aho and Corasick, 1975), with words instead of letters. The time for a
 * word depends on the number of phrases that end with it, and not on the number of all phrases.
 */
export class PhraseAutomaton {
  readonly start: PhraseState
  /** The number of words of the longest phrase. */
  readonly maxWords: number
  readonly #start: State

  /** Takes phrases as lists of words; a phrase without words is never found. */
  constructor(phrases: readonly (readonly string[])[]) {
    this.#start = stateAt(0)
    this.start = this.#start
    this.maxWords = phrases.reduce((max, words) => Math.max(max, words.length), 0)
    phrases.forEach((words, phrase) => {
      if (words.length > 0) this.#add(words, phrase)
    })
    this.#link()
  }

  /** The state after one more word, and the phrases that end with it, longest first. */
  step(from: PhraseState, word: string): { readonly state: PhraseState; readonly ends: readonly PhraseEnd[] } {
    const state = this.#follow(from as State, word)
    const ends: PhraseEnd[] = []
    for (let at: State | undefined = state; at !== undefined; at = at.shorter) {
      for (const phrase of at.phrases) ends.push({ phrase, wordCount: at.depth })
    }
    return { state, ends }
  }

  #follow(from: State, word: string): State {
    for (let at: State | undefined = from; at !== undefined; at = at.fallback) {
      const next = at.next.get(word)
      if (next !== undefined) return next
    }
    return this.#start
  }

  #add(words: readonly string[], phrase: number): void {
    let at = this.#start
    for (const word of words) {
      const next = at.next.get(word) ?? stateAt(at.depth + 1)
      at.next.set(word, next)
      at = next
    }
    at.phrases.push(phrase)
  }

  /** Links breadth first, because a longer state is linked by means of shorter ones. */
  #link(): void {
    const queue = [this.#start]
    // The loop visits the states that it adds.
    for (const parent of queue) {
      for (const [word, child] of parent.next) {
        child.fallback = parent.fallback === undefined ? this.#start : this.#follow(parent.fallback, word)
        child.shorter = child.fallback.phrases.length > 0 ? child.fallback : child.fallback.shorter
        queue.push(child)
      }
    }
  }
}
