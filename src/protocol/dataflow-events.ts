import { either } from 'fp-ts'
import type { SpeechError } from '../errors/speech-error.js'
import { eventName } from './event-name.js'
import { parseJsonObject } from './parse-json.js'
import {
  decodeWith,
  integer,
  lenient,
  mark,
  messageCodec,
  optional,
  required,
  slotsCodec,
  unitNumber,
  type MessageCodec,
} from './message-codec.js'
import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, Slots, Word } from './session-event.js'
import { listOf } from './collections.js'
import { stablePart } from './stable-length.js'
import { anything, text } from './validation.js'

/**
 * A node's event on the wire (PROTOCOL 3.3, Event). Only its name is required: any other field that cannot be read
 * counts as absent, so that one invalid field does not lose a result.
 */
export interface EventEnvelope {
  /** The name of the event; those of recognition are in `eventName`. */
  readonly name: string
  /** -1 none, -2 all channels. */
  readonly channel?: number | undefined
  /** Milliseconds since the session's first sample; -1 none. */
  readonly startMs?: number | undefined
  /** The end in milliseconds since the session's first sample; -1 none. */
  readonly endMs?: number | undefined
  /** The group of events that this one belongs to. */
  readonly groupId?: string | undefined
  /** Labels, such as those of an `event-tagger`. */
  readonly tags?: readonly string[] | undefined
  /** Any JSON value; its shape depends on the name. */
  readonly data?: unknown
}

export const eventEnvelope: MessageCodec<EventEnvelope> = messageCodec<EventEnvelope>({
  name: required(text, 'Name'),
  channel: lenient(integer(), 'Channel'),
  startMs: lenient(integer(), 'StartMsec'),
  endMs: lenient(integer(), 'EndMsec'),
  groupId: lenient(text, 'GroupId'),
  tags: lenient(listOf(text), 'Tags'),
  data: optional(anything, 'Data'),
})

export const readEventEnvelope = (json: string): either.Either<SpeechError, EventEnvelope> => {
  const object = parseJsonObject(json)
  return either.isLeft(object) ? object : decodeWith(eventEnvelope, object.right)
}

/** An envelope with all seven fields. */
export interface CompleteEventEnvelope {
  readonly name: string
  readonly channel: number
  readonly startMs: number
  readonly endMs: number
  readonly groupId: string
  readonly tags: readonly string[]
  readonly data: unknown
}

/** Fills in what is left out with -1, '', an empty list or null, as our service sends each event. */
export const completeEventEnvelope = (event: EventEnvelope): CompleteEventEnvelope => ({
  name: event.name,
  channel: event.channel ?? -1,
  startMs: event.startMs ?? -1,
  endMs: event.endMs ?? -1,
  groupId: event.groupId ?? '',
  tags: event.tags ?? [],
  data: event.data ?? null,
})

export const writeEventEnvelope = (event: EventEnvelope): string => JSON.stringify(eventEnvelope.encode(event))

/** `Data` of the three recognition events (PROTOCOL 3.3, Result data). */
export interface RecognitionData {
  readonly text: string
  readonly confidence?: number
  /** Of a partial: how much of its text does not change any more. */
  readonly stableLength?: number
  readonly words?: readonly Word[]
  /** Of a milestone: what the tags of the grammar make of its sentence. */
  readonly slots?: Slots
  /** Of a milestone: whether its audio was cut before the end of a sentence. */
  readonly isIncomplete?: true
  readonly recognitionId?: string
  /** Of a final: the position up to which the audio was read, in milliseconds since the session's first sample. */
  readonly heardMs?: number
  /** Why a recognition ended early: `<code>: <sentence>`. */
  readonly error?: string
}

const word: MessageCodec<Word> = messageCodec<Word>({
  text: required(text, 'Text'),
  startMs: required(integer(), 'StartMsec'),
  endMs: required(integer(), 'EndMsec'),
  confidence: lenient(unitNumber, 'Confidence'),
})

export const recognitionData: MessageCodec<RecognitionData> = messageCodec<RecognitionData>({
  text: required(text, 'Text'),
  confidence: lenient(unitNumber, 'Confidence'),
  stableLength: lenient(integer(), 'StableLength'),
  words: lenient(listOf(word), 'Words'),
  slots: lenient(slotsCodec, 'Slots'),
  isIncomplete: lenient(mark, 'Incomplete'),
  recognitionId: lenient(text, 'RecognitionId'),
  heardMs: lenient(integer(), 'HeardMsec'),
  error: lenient(text, 'Error'),
})

const resultTypes: ReadonlyMap<string, 'partial' | 'milestone' | 'final'> = new Map([
  [eventName.partial, 'partial'],
  [eventName.milestone, 'milestone'],
  [eventName.final, 'final'],
])

/**
 * The result of recognition in an event of a node, with its text, its times and its words: a partial, milestone or
 * final. Undefined for any other event, and for one whose `Data` cannot be read.
 *
 * @example
 * const result = resultOf({ name: 'SR Milestone', startMs: 520, endMs: 1700, data: { Text: 'good evening' } })
 * if (result?.type === 'milestone') console.log(result.startMs, result.text)
 */
export const resultOf = (event: EventEnvelope): PartialEvent | MilestoneEvent | FinalEvent | undefined => {
  const type = resultTypes.get(event.name)
  const data = type === undefined ? undefined : decodeWith(recognitionData, event.data)
  if (type === undefined || data === undefined || either.isLeft(data)) return undefined
  const { words, slots, confidence, isIncomplete, heardMs, error, text, recognitionId, stableLength } = data.right
  // Without spreads, because every result comes here.
  const base: { channel?: number; startMs?: number; endMs?: number; text: string; recognitionId?: string } = { text }
  if (event.channel !== undefined && event.channel >= 0) base.channel = event.channel
  if (event.startMs !== undefined && event.startMs >= 0) base.startMs = event.startMs
  if (event.endMs !== undefined && event.endMs >= 0) base.endMs = event.endMs
  if (recognitionId !== undefined) base.recognitionId = recognitionId
  const withConfidence = confidence === undefined ? {} : { confidence }
  switch (type) {
    case 'partial':
      return { type, ...base, ...stablePart(text, stableLength) }
    case 'milestone':
      return {
        type,
        ...base,
        ...withConfidence,
        ...(words === undefined ? {} : { words }),
        ...(slots === undefined ? {} : { slots }),
        ...(isIncomplete === undefined ? {} : { isIncomplete }),
      }
    case 'final':
      return {
        type,
        ...base,
        ...withConfidence,
        ...(heardMs === undefined ? {} : { heardMs }),
        ...(error === undefined ? {} : { error }),
      }
  }
}

/**
 * The session event for an event of the stream: one of the three results of recognition, otherwise an `event`. A result
 * whose `Data` cannot be read becomes an `event` as well, so that nothing is lost.
 */
export const sessionEventOf = (event: EventEnvelope): PartialEvent | MilestoneEvent | FinalEvent | NodeEvent =>
  resultOf(event) ?? nodeEventOf(event)

const nodeEventOf = (event: EventEnvelope): NodeEvent => {
  const { groupId, ...complete } = completeEventEnvelope(event)
  return { type: 'event', ...complete, ...(groupId === '' ? {} : { groupId }) }
}
