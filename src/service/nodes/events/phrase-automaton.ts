interface State {
  readonly next: Map<string, State>
  /** Words from the start; the phrases that end here are as long. */
  readonly depth: number
  /** The phrases that end here, by their place in the list. */
  readonly phrases: number[]
  /** The longest state that is an end of this one. */
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

/** A phrase that ends with the word just taken. */
export interface PhraseEnd {
  /** Its place in the list of phrases. */
  readonly phrase: number
  readonly wordCount: number
}

/**
 * Finds many phrases in one pass over words (Aho and Corasick, 1975), where a letter is a whole word. The time for a word
 * does not grow with the number of phrases, but for those that really end with it.
 */
export class PhraseAutomaton {
  readonly start: PhraseState
  /** Words of the longest phrase. */
  readonly longest: number
  readonly #start: State

  /** Phrases as words; one without words is never found. */
  constructor(phrases: readonly (readonly string[])[]) {
    this.#start = stateAt(0)
    this.start = this.#start
    this.longest = phrases.reduce((most, words) => Math.max(most, words.length), 0)
    phrases.forEach((words, phrase) => {
      if (words.length > 0) this.#add(words, phrase)
    })
    this.#link()
  }

  /** The state after another word, and the phrases that end with it, longest first. */
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

  /** Breadth first, so that the shorter states are linked before the longer ones ask them. */
  #link(): void {
    const line = [this.#start]
    // The line grows while it is walked along.
    for (const parent of line) {
      for (const [word, child] of parent.next) {
        child.fallback = parent.fallback === undefined ? this.#start : this.#follow(parent.fallback, word)
        child.shorter = child.fallback.phrases.length > 0 ? child.fallback : child.fallback.shorter
        line.push(child)
      }
    }
  }
}
