import { defer, mergeMap, type OperatorFunction } from 'rxjs'
import { listOf } from '../../protocol/collections.js'
import { eventName } from '../../protocol/event-name.js'
import { foldWords } from '../../protocol/fold-words.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { checkOption, codec } from '../../protocol/validation.js'
import { emitAtEnd } from '../emit-at-end.js'
import { accumulate, emptyTranscript, isResult, type Accumulated, type ResultEvent } from '../results/transcript.js'
import { PhraseAutomaton } from './phrase-automaton.js'
import { PhraseSearch, spokenWords, type FoundPhrase } from './phrase-search.js'

/** An occurrence of a phrase, emitted as `live` at most once, then as `final` or `withdrawn`. */
export interface SpottedPhrase {
  /** From 1, in the order of appearance; the same in all values of an occurrence. */
  readonly id: number
  /** `live`: seen in a partial; `final`: definitive; `withdrawn`: the definitive text does not have it. */
  readonly state: 'live' | 'final' | 'withdrawn'
  /** Whether it is the first value of the occurrence. */
  readonly isFirst: boolean
  /** The phrase as it is in the list. */
  readonly phrase: string
  /** 0 or 1; 0 if the service does not name it. */
  readonly channel: number
  /** Milliseconds of audio since the first sample of the session; absent if the service sends no times. */
  readonly startMs?: number | undefined
  /** The end of its last word, in milliseconds of audio since the first sample of the session. */
  readonly endMs?: number | undefined
  /** Whether the times are those of its words; those of the whole result if not, as in most partials. */
  readonly times: 'words' | 'results'
  /** The lowest confidence of its words, 0 to 1, if all have one. */
  readonly confidence?: number | undefined
}

/**
 * Reports each time that a phrase of a list is spoken.
 *
 * - An occurrence that a partial shows is `live`, emitted once, however often partials change. The definitive text makes
 *   it `final`, with the times of its words, or `withdrawn`. One that no partial shows is `final` at once.
 *   `filter(({ state }) => state === 'final')` has each occurrence once when it is certain,
 *   `filter(({ isFirst }) => isFirst)` once as early as possible.
 * - Whole words count, in any letter case and with any punctuation between them: "Don't STOP" is found in "don’t –
 *   stop!". In scripts without spaces each letter is a word. Numbers are compared as they are written.
 * - A phrase may begin in one result and end in a later one of its channel and recognition. Phrases within phrases are
 *   found, too. Milestones that a service repeats after a reconnect count once.
 * - The work for a result grows with its length, and not with the number of phrases or the length of the session.
 * - Completion and error: withdraws what is `live`, then the same. Unsubscription: emits nothing. Buffering: the
 *   transcript, and the words with which a phrase may begin.
 *
 * Throws `invalid-options` for anything but 1 to 10 000 phrases, each with a letter or digit.
 *
 * @example
 * ```ts
 * session$.pipe(spot(['cancel my account', 'supervisor'])).subscribe(({ state, phrase, startMs }) => console.log(state, phrase, startMs))
 * ```
 */
export const spot = (phrases: readonly string[]): OperatorFunction<SessionEvent, SpottedPhrase> => {
  const list = checkOption('phrases', phraseList, phrases)
  const automaton = new PhraseAutomaton(list.map(foldWords))
  return (source$) =>
    defer(() => {
      const spotter = new Spotter(list, automaton)
      return source$.pipe(
        mergeMap((event) => spotter.take(event)),
        emitAtEnd(() => spotter.end()),
      )
    })
}

const maxPhrases = 10_000

const phraseList = codec(
  `a list of 1 to ${maxPhrases} phrases, each with a letter or digit`,
  (value): value is readonly string[] => manyTexts.is(value) && value.length > 0,
)
const manyTexts = listOf(
  codec(
    'a phrase with a letter or digit',
    (value): value is string => typeof value === 'string' && foldWords(value).length > 0,
  ),
  { maxLength: maxPhrases },
)

/** The phrases of all channels of one session. Values wait in one queue, also those that a consumer causes. */
class Spotter {
  readonly #list: readonly string[]
  readonly #automaton: PhraseAutomaton
  readonly #searches = new Map<number, PhraseSearch>()
  readonly #found: SpottedPhrase[] = []
  #accumulated: Accumulated = emptyTranscript
  #lastId = 0

  constructor(list: readonly string[], automaton: PhraseAutomaton) {
    this.#list = list
    this.#automaton = automaton
  }

  take(event: SessionEvent): Iterable<SpottedPhrase> {
    this.#accumulated = accumulate(this.#accumulated, event)
    if (isResult(event)) this.#takeResult(event)
    else if (event.type === 'event' && event.name === eventName.noMatch)
      this.#add(Math.max(0, event.channel), (search) => search.withdraw())
    return this.#takeFound()
  }

  end(): Iterable<SpottedPhrase> {
    for (const channel of this.#searches.keys()) this.#add(channel, (search) => search.end())
    return this.#takeFound()
  }

  #takeResult(event: ResultEvent): void {
    const { type, channel = 0, startMs, endMs } = event
    const text = type === 'partial' ? event.text : this.#accumulated.added
    const words = spokenWords({ text, startMs, endMs, words: type === 'milestone' ? event.words : undefined })
    this.#add(channel, (search) => {
      if (type === 'partial') return words.length === 0 ? search.withdraw() : search.partial(words)
      const found = text === '' ? [] : search.milestone(words)
      return type === 'final' ? [...found, ...search.end()] : found
    })
  }

  #add(channel: number, find: (search: PhraseSearch) => readonly FoundPhrase[]): void {
    const search = this.#searches.get(channel) ?? new PhraseSearch(this.#automaton, () => ++this.#lastId)
    this.#searches.set(channel, search)
    for (const { phrase, isTimed, ...found } of find(search)) {
      this.#found.push({ ...found, phrase: this.#list[phrase] ?? '', channel, times: isTimed ? 'words' : 'results' })
    }
  }

  *#takeFound(): Generator<SpottedPhrase> {
    for (let found = this.#found.shift(); found !== undefined; found = this.#found.shift()) yield found
  }
}
