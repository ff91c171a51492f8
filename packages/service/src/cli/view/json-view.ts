import { isResult } from 'rxspeech/internal/operators/results/transcript'
import { noticeOf } from './notice.js'
import type { Pane } from './panes.js'
import type { Segment, Segments } from './segments.js'
import type { TranscriptReader } from './transcript-reader.js'
import type { View } from './view.js'
import { escapeControls } from './ndjson-view.js'
import { wordErrorRate, type WordErrors } from 'rxspeech-engines/word-errors'

/** What is known of a recording at its end. */
export interface RecordingFacts {
  readonly file: string
  /** The duration of the transcribed audio. */
  readonly audioMs?: number | undefined
  readonly segments: Segments
  /** The names of the channels; none for one channel. */
  readonly speakers: readonly string[]
  readonly hasWords: boolean
  readonly wordErrors?: WordErrors | undefined
  /** Why its transcript is incomplete or missing. */
  readonly error?: { readonly code?: string | undefined; readonly message: string } | undefined
}

/** The transcript of a recording as one line of JSON. Times are milliseconds; what is unknown is absent. */
export const recordingJson = (facts: RecordingFacts): string => {
  const { file, audioMs, segments, speakers, hasWords, wordErrors, error } = facts
  const document = {
    file,
    audioMs: audioMs === undefined ? undefined : Math.round(audioMs),
    text: segments.text(),
    segments: segments.list().map((segment) => segmentJson(segment, speakers, hasWords)),
    wordErrors: wordErrors && { ...wordErrors, rate: wordErrorRate(wordErrors) },
    error,
  }
  return `${escapeControls(JSON.stringify(document))}\n`
}

const segmentJson = (segment: Segment, speakers: readonly string[], hasWords: boolean): object => {
  const { startMs, endMs, channel, text, confidence, isIncomplete, slots, words } = segment
  const speaker = speakers[channel]
  return {
    startMs,
    endMs,
    channel,
    speaker,
    text,
    confidence,
    isIncomplete,
    slots,
    words: hasWords ? words : undefined,
  }
}

export interface JsonViewOptions {
  readonly segments: Segments
  readonly reader: TranscriptReader
  readonly pane: Pane
  readonly speakers: readonly string[]
}

/** Collects the segments of a recording; problems of its session go to stderr. */
export const jsonView = ({ segments, reader, pane, speakers }: JsonViewOptions): View => ({
  event: (event, transcript) => {
    const notice = noticeOf(event, speakers)
    if (notice !== undefined) pane.note(`${notice}\n`)
    if (!isResult(event)) return
    segments.take(event)
    reader.take(event, transcript)
  },
  sent: () => undefined,
  end: () => undefined,
})
