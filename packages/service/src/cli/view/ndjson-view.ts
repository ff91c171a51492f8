import { isResult } from 'rxspeech/internal/operators/results/transcript'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import type { TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'

/** Control characters that JSON does not escape; a terminal would execute some of them. */
const controls = /[\u007f-\u009f\u2028\u2029]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** A text of JSON without them. */
export const escapeControls = (json: string): string => json.replace(controls, escaped)

/** The event as one line of JSON; the bytes of audio as base64. */
export const eventLine = (event: SessionEvent): string => {
  const value = event.type === 'audio' ? { ...event, bytes: Buffer.from(event.bytes).toString('base64') } : event
  return `${escapeControls(JSON.stringify(value))}\n`
}

/** Prints each event as a line of JSON. */
export const ndjsonView = (write: (text: string) => void, reader: TranscriptReader): View => ({
  event: (event, transcript) => {
    write(eventLine(event))
    if (isResult(event)) reader.take(event, transcript)
  },
  sent: () => undefined,
  end: () => undefined,
})
