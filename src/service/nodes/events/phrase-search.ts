import type { PhraseAutomaton, PhraseState } from './phrase-automaton.js'

export interface HeardWord {
  /** Folded. */
  readonly word: string
  /** Milliseconds since the session's first sample; -1 where nobody knows. */
  readonly startMs: number
  readonly endMs: number
  readonly confidence?: number
}

export interface FoundPhrase {
  /** Its place in the list of phrases. */
  readonly phrase: number
  readonly startMs: number
  readonly endMs: number
  /** That of the least sure word, where all have one. */
  readonly confidence?: number
}

/**
 * One channel's search for phrases. A partial is read from the last milestone on, as often as it changes; the n-th find of
 * a phrase since that milestone is told once, whether in a partial or in the milestone that closes it. Held are the words
 * before the milestone that a phrase may still begin with, and a count for each phrase told since.
 */
export class PhraseSearch {
  readonly #automaton: PhraseAutomaton
  #state: PhraseState
  #before: readonly HeardWord[] = []
  /** How often each phrase was told since the last milestone. */
  #told = new Map<number, number>()

  constructor(automaton: PhraseAutomaton) {
    this.#automaton = automaton
    this.#state = automaton.start
  }

  /** What a partial says that was not told yet. */
  partial(words: readonly HeardWord[]): readonly FoundPhrase[] {
    return this.#untold(this.#search(words).found)
  }

  /** The same of a milestone, from which on is searched then. */
  milestone(words: readonly HeardWord[]): readonly FoundPhrase[] {
    const { found, state } = this.#search(words)
    const untold = this.#untold(found)
    this.#told.clear()
    this.#state = state
    const kept = this.#automaton.longest - 1
    this.#before = kept < 1 ? [] : [...this.#before, ...words].slice(-kept)
    return untold
  }

  /** The recognition is over: no phrase reaches beyond. */
  reset(): void {
    this.#state = this.#automaton.start
    this.#before = []
    this.#told.clear()
  }

  #search(words: readonly HeardWord[]): { readonly found: readonly FoundPhrase[]; readonly state: PhraseState } {
    const heard = [...this.#before, ...words]
    const found: FoundPhrase[] = []
    let state = this.#state
    words.forEach(({ word }, index) => {
      const step = this.#automaton.step(state, word)
      state = step.state
      const end = this.#before.length + index + 1
      for (const { phrase, wordCount } of step.ends) {
        found.push({ phrase, ...spanOf(heard.slice(Math.max(0, end - wordCount), end)) })
      }
    })
    return { found, state }
  }

  #untold(found: readonly FoundPhrase[]): readonly FoundPhrase[] {
    const seen = new Map<number, number>()
    return found.filter(({ phrase }) => {
      const count = (seen.get(phrase) ?? 0) + 1
      seen.set(phrase, count)
      if (count <= (this.#told.get(phrase) ?? 0)) return false
      this.#told.set(phrase, count)
      return true
    })
  }
}

const spanOf = (words: readonly HeardWord[]): Omit<FoundPhrase, 'phrase'> => {
  const confidences = words.flatMap(({ confidence }) => (confidence === undefined ? [] : [confidence]))
  return {
    startMs: words[0]?.startMs ?? -1,
    endMs: words.at(-1)?.endMs ?? -1,
    ...(confidences.length === words.length ? { confidence: Math.min(...confidences) } : {}),
  }
}
