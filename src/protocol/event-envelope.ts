import { either, function as f } from 'fp-ts'
import type { SpeechError } from '../errors/speech-error.js'
import { anything, integer, listOfText, text } from './field-codecs.js'
import { parseJsonObject } from './json-object.js'
import { decodeWith, hint, messageCodec, optional, required, type MessageCodec } from './message-codec.js'

/**
 * decisions.md, event envelope: what a node's event looks like on the wire. It stands on its name: whatever else cannot be
 * read counts as absent, so that one odd field does not cost a result.
 */
export interface EventEnvelope {
  readonly name: string
  /** -1 invalid, -2 all channels. */
  readonly channel?: number
  /** Milliseconds since the session's first sample; -1 invalid. */
  readonly startMs?: number
  readonly endMs?: number
  readonly groupId?: string
  readonly tags?: readonly string[]
  readonly data?: unknown
}

export const eventEnvelope: MessageCodec<EventEnvelope> = messageCodec<EventEnvelope>('an object', {
  name: required(text, 'Name'),
  channel: hint(integer(), 'Channel'),
  startMs: hint(integer(), 'StartMsec'),
  endMs: hint(integer(), 'EndMsec'),
  groupId: hint(text, 'GroupId'),
  tags: hint(listOfText, 'Tags'),
  data: optional(anything, 'Data'),
})

export const readEventEnvelope = (json: string): either.Either<SpeechError, EventEnvelope> =>
  f.pipe(
    parseJsonObject(json),
    either.chain((object) => decodeWith(eventEnvelope, object)),
  )

/** The event with all seven fields, as our service sends each: what is left out is -1, '', an empty list or null. */
export const wholeEventEnvelope = (event: EventEnvelope): Required<EventEnvelope> => ({
  name: event.name,
  channel: event.channel ?? -1,
  startMs: event.startMs ?? -1,
  endMs: event.endMs ?? -1,
  groupId: event.groupId ?? '',
  tags: event.tags ?? [],
  data: event.data ?? null,
})

export const writeEventEnvelope = (event: EventEnvelope): string => JSON.stringify(eventEnvelope.encode(event))
