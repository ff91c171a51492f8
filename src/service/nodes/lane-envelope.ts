import type { EventEnvelope } from '../../protocol/event-envelope.js'
import { eventName, recognitionData, type RecognitionData } from '../../protocol/recognition-events.js'
import type { LaneEvent } from '../recognition/recognize-lane.js'

/** What the recognition of a channel says, as an event of the session (decisions.md: event names). */
export const laneEnvelope = (event: Exclude<LaneEvent, { type: 'progress' }>, channel: number): EventEnvelope => {
  switch (event.type) {
    case 'speech-started':
      return { name: eventName.speechStarted, channel, startMs: event.startMs, endMs: -1, data: { AtMsec: event.atMs } }
    case 'speech-ended':
      return { name: eventName.speechEnded, channel, startMs: event.startMs, endMs: event.endMs }
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
      })
  }
}

/** As exact as the recogniser's two decimals (service.md 4.2 rule 6), so that both interfaces tell the same. */
const rounded = (confidence: number): number => Number(confidence.toFixed(2))

const resultEnvelope = (
  name: string,
  channel: number,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  data: RecognitionData,
): EventEnvelope => ({ name, channel, startMs, endMs, data: recognitionData.encode(data) })
