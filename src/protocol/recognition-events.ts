import { either } from 'fp-ts'
import type { EventEnvelope } from './event-envelope.js'
import { eventName } from './event-name.js'
import { integer, text, unitNumber } from './field-codecs.js'
import { listOf } from './list-codec.js'
import { decodeWith, hint, messageCodec, required, type MessageCodec } from './message-codec.js'
import type { FinalEvent, MilestoneEvent, NodeEvent, PartialEvent, Word } from './session-event.js'

/** `Data` of the three recognition events. */
export interface RecognitionData {
  readonly text: string
  readonly confidence?: number
  readonly words?: readonly Word[]
  readonly recognitionId?: string
  /** Of a final: how far the audio was read, in milliseconds since the session's first sample. */
  readonly heardMs?: number
  /** Why a recognition ended before its time: the text of a refusal. */
  readonly error?: string
}

const word: MessageCodec<Word> = messageCodec<Word>('an object', {
  text: required(text, 'Text'),
  startMs: required(integer(), 'StartMsec'),
  endMs: required(integer(), 'EndMsec'),
  confidence: required(unitNumber, 'Confidence'),
})

export const recognitionData: MessageCodec<RecognitionData> = messageCodec<RecognitionData>('an object', {
  text: required(text, 'Text'),
  confidence: hint(unitNumber, 'Confidence'),
  words: hint(listOf(word), 'Words'),
  recognitionId: hint(text, 'RecognitionId'),
  heardMs: hint(integer(), 'HeardMsec'),
  error: hint(text, 'Error'),
})

/**
 * What an event of the stream means: one of the three results of recognition, else itself. A result whose `Data` does
 * not fit stays an `event` as well, so that nothing is lost.
 */
export const sessionEventOf = (event: EventEnvelope): PartialEvent | MilestoneEvent | FinalEvent | NodeEvent => {
  const type = resultTypes.get(event.name)
  const data = type === undefined ? undefined : decodeWith(recognitionData, event.data)
  if (type === undefined || data === undefined || either.isLeft(data)) return nodeEventOf(event)
  const { words, confidence, heardMs, error, ...result } = data.right
  const base = {
    ...(event.channel !== undefined && event.channel >= 0 ? { channel: event.channel } : {}),
    ...(event.startMs !== undefined && event.startMs >= 0 ? { startMs: event.startMs } : {}),
    ...(event.endMs !== undefined && event.endMs >= 0 ? { endMs: event.endMs } : {}),
    ...result,
  }
  const sure = confidence === undefined ? {} : { confidence }
  switch (type) {
    case 'partial':
      return { type, ...base }
    case 'milestone':
      return { type, ...base, ...sure, ...(words === undefined ? {} : { words }) }
    case 'final':
      return {
        type,
        ...base,
        ...sure,
        ...(heardMs === undefined ? {} : { heardMs }),
        ...(error === undefined ? {} : { error }),
      }
  }
}

const resultTypes: ReadonlyMap<string, 'partial' | 'milestone' | 'final'> = new Map([
  [eventName.partial, 'partial'],
  [eventName.milestone, 'milestone'],
  [eventName.final, 'final'],
])

const nodeEventOf = (event: EventEnvelope): NodeEvent => ({
  type: 'event',
  name: event.name,
  channel: event.channel ?? -1,
  startMs: event.startMs ?? -1,
  endMs: event.endMs ?? -1,
  ...((event.groupId ?? '') === '' ? {} : { groupId: event.groupId }),
  tags: event.tags ?? [],
  data: event.data ?? null,
})
