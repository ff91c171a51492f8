import {
  type EventEnvelope,
  eventName,
  recognitionData,
  type RecognitionData,
} from '../../../protocol/dataflow-events.js'
import type { ChannelEvent } from '../../recognition/recognize-channel.js'

/** What a lane says of speech, beside how far it has come. */
export type SpeechEvent = Exclude<ChannelEvent, { type: 'progress' }>

/** The event with its times `offsetMs` later, for a lane that began in the middle of its session. */
const later = (event: SpeechEvent, offsetMs: number): SpeechEvent => {
  if (offsetMs === 0) return event
  const startMs = event.startMs + offsetMs
  if (event.type === 'speech-started') return { ...event, startMs, atMs: event.atMs + offsetMs }
  if (event.type === 'fault') return { ...event, startMs }
  const endMs = event.endMs + offsetMs
  if (event.type === 'final') return { ...event, startMs, endMs, heardMs: event.heardMs + offsetMs }
  if (event.type !== 'milestone') return { ...event, startMs, endMs }
  const words = event.words.map((word) => ({
    ...word,
    startMs: word.startMs + offsetMs,
    endMs: word.endMs + offsetMs,
  }))
  return { ...event, startMs, endMs, words }
}

/** No result of recognition: a client hands it on as it does any event of a node. */
const engineFailed = 'Engine Failed'

/** What the recognition of a channel says, as an event of the session (decisions.md: event names). */
export const channelEnvelope = (said: SpeechEvent, channel: number, offsetMs = 0): EventEnvelope => {
  const event = later(said, offsetMs)
  switch (event.type) {
    case 'speech-started':
      return { name: eventName.speechStarted, channel, startMs: event.startMs, endMs: -1, data: { AtMsec: event.atMs } }
    case 'speech-ended':
      return { name: eventName.speechEnded, channel, startMs: event.startMs, endMs: event.endMs }
    case 'silence':
      return { name: eventName.silence, channel, startMs: event.startMs, endMs: event.endMs }
    case 'fault': {
      const data = { Code: event.error.code, Retried: event.retried }
      return { name: engineFailed, channel, startMs: event.startMs, endMs: -1, data }
    }
    case 'partial':
      return resultEnvelope(eventName.partial, channel, event, { text: event.text })
    case 'milestone':
      return resultEnvelope(eventName.milestone, channel, event, {
        text: event.text,
        confidence: rounded(event.confidence),
        words: event.words,
      })
    case 'final':
      return resultEnvelope(eventName.final, channel, event, {
        text: event.text,
        confidence: rounded(event.confidence ?? 0),
        heardMs: event.heardMs,
      })
  }
}

/** As exact as the recognizer's two decimals (service.md 4.2 rule 6), so that both interfaces tell the same. */
const rounded = (confidence: number): number => Number(confidence.toFixed(2))

const resultEnvelope = (
  name: string,
  channel: number,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  data: RecognitionData,
): EventEnvelope => ({ name, channel, startMs, endMs, data: recognitionData.encode(data) })
