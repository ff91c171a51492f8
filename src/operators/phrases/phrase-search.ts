import { foldWords } from '../../protocol/fold-words.js'
import type { Word } from '../../protocol/session-event.js'
import type { PhraseAutomaton, PhraseState } from './phrase-automaton.js'

/** A word as `foldWords` gives it, with its times or those of its result. */
export interface SpokenWord {
  readonly word: string
  readonly startMs: number | undefined
  readonly endMs: number | undefined
  /** Whether the times are those of the word and not of its result. */
  readonly isTimed: boolean
  readonly confidence?: number | undefined
}

/** The text of a result, with its times. */
export interface SpokenResult {
  readonly text: string
  readonly startMs?: number | undefined
  readonly endMs?: number | undefined
  readonly words?: readonly Word[] | undefined
}

/** The words of a text with their own times if `words` are the same words, and with those of the result if not. */
export const spokenWords = ({ text, startMs, endMs, words = [] }: SpokenResult): readonly SpokenWord[] => {
  const plain = foldWords(text)
  const timed = words.flatMap((one) => {
    const { confidence } = one
    return foldWords(one.text).map((word): SpokenWord => ({
      word,
      startMs: one.startMs,
      endMs: one.endMs,
      isTimed: true,
      confidence,
    }))
  })
  if (timed.length === plain.length && timed.every(({ word }, at) => word === plain[at])) return timed
  return plain.map((word) => ({ word, startMs, endMs, isTimed: false }))
}

/** One occurrence of a phrase: `live` at most once, then `final` or `withdrawn`. */
export interface FoundPhrase {
  readonly state: 'live' | 'final' | 'withdrawn'
  /** The index of the phrase in the list. */
  readonly phrase: number
  /** The same in all reports of an occurrence. */
  readonly id: number
  /** Whether it is the first report of the occurrence. */
  readonly isFirst: boolean
  readonly startMs: number | undefined
  readonly endMs: number | undefined
  readonly isTimed: boolean
  /** The lowest confidence of its words, if all have one. */
  readonly confidence?: number | undefined
}

/** A phrase in a text, and where it begins, in words since the last milestone. */
interface Match {
  readonly place: Omit<FoundPhrase, 'state' | 'id' | 'isFirst'>
  readonly fromWord: number
}

/** An occurrence that was seen in a partial. */
interface LivePhrase {
  readonly shown: FoundPhrase
  readonly fromWord: number
}

/**
 * Searches the results of one channel. Each partial is searched from the last milestone on, in time that grows with its
 * own length only. The n-th match of a phrase since that milestone is one occurrence, in whichever result it is seen. The
 * search keeps the words before the milestone with which a phrase may begin, and the occurrences that are not decided.
 */
export class PhraseSearch {
  readonly #automaton: PhraseAutomaton
  readonly #newId: () => number
  #state: PhraseState
  #before: readonly SpokenWord[] = []
  /** The occurrences of each phrase that are not decided, in their order. */
  #live = new Map<number, LivePhrase[]>()
  /** Where the audio of the latest partial ends. */
  #partialEndMs: number | undefined

  /** `newId` returns the id of the next occurrence. */
  constructor(automaton: PhraseAutomaton, newId: () => number) {
    this.#automaton = automaton
    this.#newId = newId
    this.#state = automaton.start
  }

  /** The occurrences that a partial is the first to have. */
  partial(words: readonly SpokenWord[]): readonly FoundPhrase[] {
    this.#partialEndMs = words.at(-1)?.endMs
    const seen = new PhraseCounts()
    const fresh: FoundPhrase[] = []
    for (const { place, fromWord } of this.#search(words).matches) {
      const live = this.#live.get(place.phrase) ?? []
      const at = seen.next(place.phrase)
      const known = live[at]?.shown
      const shown: FoundPhrase = known ?? { ...place, state: 'live', id: this.#newId(), isFirst: true }
      if (known === undefined) fresh.push(shown)
      live[at] = { shown, fromWord }
      this.#live.set(place.phrase, live)
    }
    return fresh
  }

  /** The occurrences that a milestone has, then those that it withdraws. Later searches continue from its end. */
  milestone(words: readonly SpokenWord[]): readonly FoundPhrase[] {
    const { matches, state } = this.#search(words)
    const seen = new PhraseCounts()
    const found = matches.map(({ place }): FoundPhrase => {
      const known = this.#live.get(place.phrase)?.[seen.next(place.phrase)]?.shown
      return { ...place, state: 'final', id: known?.id ?? this.#newId(), isFirst: known === undefined }
    })
    for (const [phrase, count] of seen.counts) this.#live.get(phrase)?.splice(0, count)
    this.#state = state
    const kept = this.#automaton.maxWords - 1
    this.#before = kept < 1 ? [] : [...this.#before, ...words].slice(-kept)
    const endMs = words.at(-1)?.endMs
    const isWhole = endMs !== undefined && this.#partialEndMs !== undefined && endMs >= this.#partialEndMs
    return [...found, ...this.#withdraw(isWhole ? Infinity : words.length)]
  }

  /** The words since the last milestone came to nothing. */
  withdraw(): readonly FoundPhrase[] {
    return this.#withdraw(Infinity)
  }

  /** The recognition ended: no phrase continues after it. */
  end(): readonly FoundPhrase[] {
    this.#state = this.#automaton.start
    this.#before = []
    return this.withdraw()
  }

  /** Withdraws what began in the first words since the last milestone; the others are in words that follow. */
  #withdraw(count: number): readonly FoundPhrase[] {
    const undecided = [...this.#live.values()].flat()
    this.#live = new Map()
    for (const { shown, fromWord } of undecided) {
      if (fromWord < count) continue
      const others = this.#live.get(shown.phrase) ?? []
      others.push({ shown, fromWord: fromWord - count })
      this.#live.set(shown.phrase, others)
    }
    return undecided
      .filter(({ fromWord }) => fromWord < count)
      .map(({ shown }): FoundPhrase => ({ ...shown, state: 'withdrawn', isFirst: false }))
      .toSorted((a, b) => a.id - b.id)
  }

  #search(words: readonly SpokenWord[]): { readonly matches: readonly Match[]; readonly state: PhraseState } {
    const all = [...this.#before, ...words]
    const matches: Match[] = []
    let state = this.#state
    words.forEach(({ word }, index) => {
      const step = this.#automaton.step(state, word)
      state = step.state
      const end = this.#before.length + index + 1
      for (const { phrase, wordCount } of step.ends) {
        const own = all.slice(Math.max(0, end - wordCount), end)
        matches.push({ place: { phrase, ...spanOf(own) }, fromWord: index + 1 - wordCount })
      }
    })
    return { matches, state }
  }
}

/** How many matches of each phrase a result has so far. */
class PhraseCounts {
  readonly counts = new Map<number, number>()

  /** The number of earlier matches; counts this one. */
  next(phrase: number): number {
    const count = this.counts.get(phrase) ?? 0
    this.counts.set(phrase, count + 1)
    return count
  }
}

const spanOf = (words: readonly SpokenWord[]): Pick<FoundPhrase, 'startMs' | 'endMs' | 'isTimed' | 'confidence'> => {
  const confidences = words.flatMap(({ confidence }) => confidence ?? [])
  return {
    startMs: words[0]?.startMs,
    endMs: words.at(-1)?.endMs,
    isTimed: words.every(({ isTimed }) => isTimed),
    ...(confidences.length === words.length && { confidence: Math.min(...confidences) }),
  }
}
