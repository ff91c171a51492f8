import { either } from 'fp-ts'
import * as t from 'io-ts'
import { SpeechError } from '../../../errors/speech-error.js'
import { decodeWith } from '../../../protocol/message-codec.js'
import {
  type EventEnvelope,
  eventName,
  recognitionData,
  type RecognitionData,
} from '../../../protocol/dataflow-events.js'
import { defineNode } from '../core/define-node.js'
import { foldWords } from '../core/fold-words.js'
import type { NodeContext } from '../core/node.js'
import { listOf, nodeOptions, oneOfWords, text } from '../core/node-options.js'
import { PhraseAutomaton } from './phrase-automaton.js'
import { PhraseSearch, type FoundPhrase, type HeardWord } from './phrase-search.js'
import { eventItem, stepItems, type ItemSteps } from '../core/node-steps.js'

const maxPhrases = 10_000
/** The service has channels 0 and 1; other nodes may name others, but not without a bound. */
const maxLanes = 16

const phraseList = listOf(text, maxPhrases)
const phrases = new t.Type<readonly string[] | string, unknown>(
  `a list of at most ${maxPhrases} phrases, or the name of a file resource that has one a line`,
  (value): value is readonly string[] | string => phraseList.is(value) || text.is(value),
  (input, context) => (phraseList.is(input) || text.is(input) ? t.success(input) : t.failure(input, context)),
  (value) => value,
)

const options = nodeOptions(
  { phrases },
  { in: oneOfWords('milestones', 'partials', 'both'), event: text, tags: listOf(text, 64) },
)
type Options = t.TypeOf<typeof options>

/**
 * Words into events: each phrase that is said, told once as the event `Phrase` (or as the option `event` says) with
 * `Data` {Phrase, Confidence}. Letter case and punctuation do not matter, whole words do; a phrase may begin in one
 * milestone and end in the next. Times are those of the words where `Data.Words` has them, else those of the results
 * that the phrase lies in. What a partial told is not told again by its milestone. All events pass, before their finds.
 */
export const phraseSpotter = defineNode({
  name: 'phrase-spotter',
  summary: 'Tells each of a list of phrases that is said, by an event.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options,
  uses: ({ phrases: given }) =>
    typeof given === 'string' ? [{ option: 'phrases', resource: given, kind: 'file' }] : [],
  open: (given, context) => {
    const list = phrasesOf(given, context)
    const automaton = new PhraseAutomaton(list.map(foldWords))
    return (input$) => input$.pipe(stepItems(() => spotting(given, list, automaton)))
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

const spotting = (
  { in: where = 'milestones', event: name = 'Phrase', tags = [] }: Options,
  list: readonly string[],
  automaton: PhraseAutomaton,
): ItemSteps => {
  const lanes = new Map<number, PhraseSearch>()
  const laneOf = (channel: number): PhraseSearch => {
    const lane = lanes.get(channel) ?? new PhraseSearch(automaton)
    lanes.set(channel, lane)
    const [oldest] = lanes.keys()
    if (lanes.size > maxLanes && oldest !== undefined) lanes.delete(oldest)
    return lane
  }
  const findsIn = (event: EventEnvelope): readonly FoundPhrase[] => {
    const lane = laneOf(event.channel ?? -1)
    const isPartial = event.name === eventName.partial
    if (event.name === eventName.final) lane.reset()
    if (!isPartial && event.name !== eventName.milestone) return []
    if (isPartial && where === 'milestones') return []
    const data = decodeWith(recognitionData, event.data)
    if (either.isLeft(data)) return []
    const words = heardWords(event, data.right)
    const found = isPartial ? lane.partial(words) : lane.milestone(words)
    return isPartial || where !== 'partials' ? found : []
  }
  const told = (event: EventEnvelope, { phrase, startMs, endMs, confidence }: FoundPhrase): EventEnvelope => ({
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
      return [eventItem(event), ...findsIn(event).map((found) => eventItem(told(event, found)))]
    },
  }
}

/** The words with their times where these are the words of the text, else with the times of the whole result. */
const heardWords = (event: EventEnvelope, { text: said, words = [] }: RecognitionData): readonly HeardWord[] => {
  const plain = foldWords(said)
  const timed = words.flatMap(({ text: one, startMs, endMs, confidence }) =>
    foldWords(one).map((word): HeardWord => ({ word, startMs, endMs, confidence })),
  )
  if (timed.length === plain.length && timed.every(({ word }, index) => word === plain[index])) return timed
  return plain.map((word) => ({ word, startMs: event.startMs ?? -1, endMs: event.endMs ?? -1 }))
}
