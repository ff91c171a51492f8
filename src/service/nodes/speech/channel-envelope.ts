import { type EventEnvelope, recognitionData, type RecognitionData } from '../../../protocol/dataflow-events.js'
import { eventName } from '../../../protocol/event-name.js'
import type { ChannelEvent } from '../../recognition/recognize-channel.js'

/** The events of a channel without those of progress. */
export type SpeechEvent = Exclude<ChannelEvent, { type: 'progress' }>

/** Shifts the times of an event, for a recognition that began in the middle of its session. */
const shift = (event: SpeechEvent, offsetMs: number): SpeechEvent => {
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

/** Not a result of recognition; clients emit it like any other event of a node. */
const engineFailed = 'Engine Failed'

/** An event of a channel as an event of the session (PROTOCOL 3.3). */
export const channelEnvelope = (given: SpeechEvent, channel: number, offsetMs = 0): EventEnvelope => {
  const event = shift(given, offsetMs)
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

/** Two decimals, as in the recognizer's results (PROTOCOL 4.2), so that both interfaces give the same value. */
const rounded = (confidence: number): number => Number(confidence.toFixed(2))

const resultEnvelope = (
  name: string,
  channel: number,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  data: RecognitionData,
): EventEnvelope => ({ name, channel, startMs, endMs, data: recognitionData.encode(data) })
