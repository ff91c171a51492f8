import type { PhraseFault } from '../engine.js'
import { completeSentences } from '../models/complete-sentences.js'
import { grammarGraph, type GrammarGraph } from '../models/grammar-graph.js'
import { nearWords } from '../models/near-words.js'
import { withPhrases } from '../models/phrase-graph.js'
import { wordFaults } from '../models/word-faults.js'
import { graphText, setGraph, type Decoder, type SoundswallowerPackage } from './package.js'

/** A grammar in the form in which decoders get it. */
export interface DecoderGrammar {
  /** Gives it to a decoder. Throws if the package does not accept it. */
  readonly setFor: (decoder: Decoder) => void
  /** Whether a text is a sentence of it that no word can follow. */
  readonly isComplete: (text: string) => boolean
}

/** How many grammars with phrases a worker keeps; one of 1,000 sentences takes about 1 MB. */
const maxKept = 32

/** Longer words get no suggestion: one of this length takes about 1,100 look-ups of the decoder's thread. */
const maxSuggestionLength = 12

/** How many words a worker keeps the suggestions of. */
const maxSuggestions = 256

const noGraph =
  'cannot be added to the grammar of this model, which is too large or has imports, recursion or quoted words.'

const keyOf = (phrases: readonly string[]): string => phrases.join('\n')

/**
 * The grammar of a model, and the grammars of it and the phrases of sessions. A grammar with phrases is made once for
 * all segments of all sessions that have the same ones, as long as it is one of the last that were used.
 */
export class WorkerGrammars {
  readonly #soundswallower: SoundswallowerPackage
  readonly #isKnown: (word: string) => boolean
  readonly #graph: GrammarGraph | undefined
  readonly #own: DecoderGrammar
  /** The last used one is last. */
  readonly #kept = new Map<string, DecoderGrammar>()
  /** The other pronunciations of words, which the dictionary of each decoder has. */
  readonly #variants = new Map<string, readonly string[]>()
  readonly #suggestions = new Map<string, string>()

  /** `isKnown` says whether the dictionary has a word; `jsgf` may be any text. */
  constructor(soundswallower: SoundswallowerPackage, jsgf: string, isKnown: (word: string) => boolean) {
    this.#soundswallower = soundswallower
    this.#isKnown = isKnown
    this.#graph = grammarGraph(jsgf)
    this.#own =
      this.#graph === undefined
        ? { setFor: (decoder) => decoder.set_grammar(jsgf), isComplete: () => false }
        : this.#grammarOf(this.#graph)
  }

  /**
   * Why these phrases cannot be added: a grammar that no graph can express, or words that the dictionary lacks. The
   * first of these words has a suggestion if it is short.
   */
  faultsOf(phrases: readonly string[]): readonly PhraseFault[] {
    if (this.#graph === undefined) return [{ reason: noGraph }]
    if (this.#kept.has(keyOf(phrases))) return []
    let isFirst = true
    return wordFaults(phrases, this.#isKnown, (word) => {
      const suggestion = isFirst ? this.#suggestionFor(word) : ''
      isFirst = false
      return `which the dictionary of the model lacks${suggestion}`
    })
  }

  /** The grammar of the model, with these phrases, which have no fault, if there are some. */
  with(phrases: readonly string[] = []): DecoderGrammar {
    if (phrases.length === 0 || this.#graph === undefined) return this.#own
    const key = keyOf(phrases)
    const grammar = this.#kept.get(key) ?? this.#grammarOf(withPhrases(this.#graph, phrases))
    this.#kept.delete(key)
    this.#kept.set(key, grammar)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest)
    return grammar
  }

  #grammarOf(graph: GrammarGraph): DecoderGrammar {
    let text: Uint8Array | undefined
    return {
      setFor: (decoder) => {
        text ??= graphText(graph, (word) => this.#variantsOf(word, decoder))
        setGraph(this.#soundswallower, decoder, text)
      },
      isComplete: completeSentences(graph),
    }
  }

  /** Every session waits for this thread, so only the first word of a check is looked for, if it is short. */
  #suggestionFor(word: string): string {
    if (word.length > maxSuggestionLength) return ''
    const known = this.#suggestions.get(word)
    if (known !== undefined) return known
    const near = nearWords(word, this.#isKnown).map((name) => `"${name}"`)
    const suggestion = near.length === 0 ? '' : `; near are ${near.join(', ')}`
    if (this.#suggestions.size === maxSuggestions) this.#suggestions.clear()
    this.#suggestions.set(word, suggestion)
    return suggestion
  }

  #variantsOf(word: string, decoder: Decoder): readonly string[] {
    const known = this.#variants.get(word)
    if (known !== undefined) return known
    const variants: string[] = []
    for (let number = 2; decoder.lookup_word(`${word}(${number})`) !== null; number += 1) {
      variants.push(`${word}(${number})`)
    }
    this.#variants.set(word, variants)
    return variants
  }
}
