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
import { type NodeSteps, stepItems } from 'rxspeech-server/nodes/core/node-steps'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { PhraseAutomaton } from 'rxspeech/internal/operators/phrases/phrase-automaton'
import { type FoundPhrase, PhraseSearch, spokenWords } from 'rxspeech/internal/operators/phrases/phrase-search'
import { recognitionData } from 'rxspeech/internal/protocol/dataflow-events'
import { foldWords } from 'rxspeech/internal/protocol/fold-words'
import { decodeWith } from 'rxspeech/internal/protocol/message-codec'
import { codec } from 'rxspeech/internal/protocol/validation'

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
  const searches = new Map<number, PhraseSearch>()
  let lastId = 0
  const searchOf = (channel: number): PhraseSearch => {
    const search = searches.get(channel) ?? new PhraseSearch(automaton, () => ++lastId)
    searches.set(channel, search)
    const [oldest] = searches.keys()
    if (searches.size > maxChannels && oldest !== undefined) searches.delete(oldest)
    return search
  }
  const isReported = ({ state, isFirst }: FoundPhrase): boolean =>
    state === (where === 'milestones' ? 'final' : 'live') || (where === 'both' && state === 'final' && isFirst)
  const matchesIn = (event: EventEnvelope): readonly FoundPhrase[] => {
    const search = searchOf(event.channel ?? -1)
    const isPartial = event.name === eventName.partial
    if (event.name === eventName.final) search.end()
    if (!isPartial && event.name !== eventName.milestone) return []
    if (isPartial && where === 'milestones') return []
    const data = decodeWith(recognitionData, event.data)
    if (either.isLeft(data)) return []
    const { startMs, endMs } = event
    const words = spokenWords({ ...data.right, startMs, endMs })
    return (isPartial ? search.partial(words) : search.milestone(words)).filter(isReported)
  }
  const reportOf = (
    event: EventEnvelope,
    { phrase, startMs = -1, endMs = -1, confidence }: FoundPhrase,
  ): EventEnvelope => ({
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
