import { either } from 'fp-ts'
import type * as t from 'io-ts'
import {
  defineNode,
  type EventEnvelope,
  eventName,
  listOf,
  type NodeContext,
  nodeOptions,
  nonEmptyText,
  oneOfWords,
} from 'rxspeech-server/nodes'
import { eventItem } from 'rxspeech-server/nodes/core/events'
import { foldWords } from 'rxspeech-server/nodes/core/fold-words'
import { type NodeSteps, stepItems } from 'rxspeech-server/nodes/core/node-steps'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { recognitionData, type RecognitionData } from 'rxspeech/internal/protocol/dataflow-events'
import { decodeWith } from 'rxspeech/internal/protocol/message-codec'
import { codec } from 'rxspeech/internal/protocol/validation'
import { PhraseAutomaton, type PhraseState } from './phrase-automaton.js'

const maxPhrases = 10_000
/** The service has channels 0 and 1; other nodes may name others, up to this bound. */
const maxChannels = 16

const phraseList = listOf(nonEmptyText, maxPhrases)
const phrases = codec(
  `a list of at most ${maxPhrases} phrases, or the name of a file resource with one per line`,
  (value): value is readonly string[] | string => phraseList.is(value) || nonEmptyText.is(value),
)

const options = nodeOptions(
  { phrases },
  { in: oneOfWords('milestones', 'partials', 'both'), event: nonEmptyText, tags: listOf(nonEmptyText, 64) },
)
type Options = t.TypeOf<typeof options>

/**
 * Reports each spoken phrase of a list once, as the event `Phrase` (or the name in the option `event`) with `Data`
 * {Phrase, Confidence}. Letter case and punctuation do not count, whole words do; a phrase may begin in one milestone
 * and end in the next. Times are those of the words if `Data.Words` has them, and those of the results if not. A match
 * that was reported for a partial is not reported again for its milestone. All events pass, each before its matches.
 */
export const phraseSpotter = defineNode({
  name: 'phrase-spotter',
  summary: 'Reports each spoken phrase of a list by an event.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options,
  uses: ({ phrases: given }) =>
    typeof given === 'string' ? [{ option: 'phrases', resource: given, kind: 'file' }] : [],
  open: (given, context) => {
    const list = phrasesOf(given, context)
    const automaton = new PhraseAutomaton(list.map(foldWords))
    return (input$) => input$.pipe(stepItems(() => spotterSteps(given, list, automaton)))
  },
})

const phrasesOf = ({ phrases: given }: Options, { node, resource }: NodeContext): readonly string[] => {
  if (typeof given !== 'string') return given
  const file = resource(given)
  if (file?.kind !== 'file') throw new SpeechError('invalid-options', `${node} has no file resource ${given}.`)
  const lines = new TextDecoder().decode(file.bytes).split(/\r?\n/u)
  const list = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  if (list.length <= maxPhrases) return list
  throw new SpeechError('invalid-options', `The file of ${node} has ${list.length} phrases; ${maxPhrases} are allowed.`)
}

const spotterSteps = (
  { in: where = 'milestones', event: name = 'Phrase', tags = [] }: Options,
  list: readonly string[],
  automaton: PhraseAutomaton,
): NodeSteps => {
  const searches = new Map<number, ChannelSearch>()
  const searchOf = (channel: number): ChannelSearch => {
    const search = searches.get(channel) ?? new ChannelSearch(automaton)
    searches.set(channel, search)
    const [oldest] = searches.keys()
    if (searches.size > maxChannels && oldest !== undefined) searches.delete(oldest)
    return search
  }
  const matchesIn = (event: EventEnvelope): readonly FoundPhrase[] => {
    const search = searchOf(event.channel ?? -1)
    const isPartial = event.name === eventName.partial
    if (event.name === eventName.final) search.reset()
    if (!isPartial && event.name !== eventName.milestone) return []
    if (isPartial && where === 'milestones') return []
    const data = decodeWith(recognitionData, event.data)
    if (either.isLeft(data)) return []
    const words = spokenWords(event, data.right)
    const found = isPartial ? search.partial(words) : search.milestone(words)
    return isPartial || where !== 'partials' ? found : []
  }
  const reportOf = (event: EventEnvelope, { phrase, startMs, endMs, confidence }: FoundPhrase): EventEnvelope => ({
    name,
    channel: event.channel ?? -1,
    startMs,
    endMs,
    ...(tags.length === 0 ? {} : { tags }),
    data: { Phrase: list[phrase] ?? '', ...(confidence === undefined ? {} : { Confidence: confidence }) },
  })
  return {
    take: (item) => {
      if (item.type !== 'event') return []
      const { event } = item
      return [eventItem(event), ...matchesIn(event).map((found) => eventItem(reportOf(event, found)))]
    },
  }
}

/** The words of a text with their times if `Data.Words` are the same words, and with the times of the result if not. */
const spokenWords = (event: EventEnvelope, { text: spoken, words = [] }: RecognitionData): readonly SpokenWord[] => {
  const plain = foldWords(spoken)
  const timed = words.flatMap(({ text: timedText, startMs, endMs, confidence }) =>
    foldWords(timedText).map((word): SpokenWord => ({ word, startMs, endMs, confidence })),
  )
  if (timed.length === plain.length && timed.every(({ word }, index) => word === plain[index])) return timed
  return plain.map((word) => ({ word, startMs: event.startMs ?? -1, endMs: event.endMs ?? -1 }))
}

interface SpokenWord {
  /** The word as folded by `foldWords`. */
  readonly word: string
  /** Milliseconds since the session's first sample; -1 if unknown. */
  readonly startMs: number
  readonly endMs: number
  readonly confidence?: number | undefined
}

interface FoundPhrase {
  /** Its index in the list of phrases. */
  readonly phrase: number
  readonly startMs: number
  readonly endMs: number
  /** The lowest confidence of its words, if all have one. */
  readonly confidence?: number
}

/**
 * Searches the results of one channel. Each partial is searched from the last milestone on. The n-th match of a phrase
 * since that milestone is reported once, in a partial or in the milestone that replaces it. The search keeps the words
 * before the milestone with which a phrase may begin, and counts the matches of each phrase since.
 */
class ChannelSearch {
  readonly #automaton: PhraseAutomaton
  #state: PhraseState
  #before: readonly SpokenWord[] = []
  /** How often each phrase was reported since the last milestone. */
  #reported = new Map<number, number>()

  constructor(automaton: PhraseAutomaton) {
    this.#automaton = automaton
    this.#state = automaton.start
  }

  /** The new matches of a partial. */
  partial(words: readonly SpokenWord[]): readonly FoundPhrase[] {
    return this.#unreported(this.#search(words).found)
  }

  /** The new matches of a milestone; later searches continue from its end. */
  milestone(words: readonly SpokenWord[]): readonly FoundPhrase[] {
    const { found, state } = this.#search(words)
    const unreported = this.#unreported(found)
    this.#reported.clear()
    this.#state = state
    const kept = this.#automaton.maxWords - 1
    this.#before = kept < 1 ? [] : [...this.#before, ...words].slice(-kept)
    return unreported
  }

  /** The recognition ended; no phrase continues after it. */
  reset(): void {
    this.#state = this.#automaton.start
    this.#before = []
    this.#reported.clear()
  }

  #search(words: readonly SpokenWord[]): { readonly found: readonly FoundPhrase[]; readonly state: PhraseState } {
    const all = [...this.#before, ...words]
    const found: FoundPhrase[] = []
    let state = this.#state
    words.forEach(({ word }, index) => {
      const step = this.#automaton.step(state, word)
      state = step.state
      const end = this.#before.length + index + 1
      for (const { phrase, wordCount } of step.ends) {
        found.push({ phrase, ...spanOf(all.slice(Math.max(0, end - wordCount), end)) })
      }
    })
    return { found, state }
  }

  #unreported(found: readonly FoundPhrase[]): readonly FoundPhrase[] {
    const seen = new Map<number, number>()
    return found.filter(({ phrase }) => {
      const count = (seen.get(phrase) ?? 0) + 1
      seen.set(phrase, count)
      if (count <= (this.#reported.get(phrase) ?? 0)) return false
      this.#reported.set(phrase, count)
      return true
    })
  }
}

const spanOf = (words: readonly SpokenWord[]): Omit<FoundPhrase, 'phrase'> => {
  const confidences = words.flatMap(({ confidence }) => (confidence === undefined ? [] : [confidence]))
  return {
    startMs: words[0]?.startMs ?? -1,
    endMs: words.at(-1)?.endMs ?? -1,
    ...(confidences.length === words.length ? { confidence: Math.min(...confidences) } : {}),
  }
}
