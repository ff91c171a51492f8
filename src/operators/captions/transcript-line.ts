import type { GapCause, Word } from '../../protocol/session-event.js'

/** A line of a list of captions: keep its `key` in your list, and show the value of the latest list. */
export type TranscriptLine = SpokenLine | RejectedLine | GapLine

/** What all lines have. */
interface Line {
  /** Never reused. A line keeps it while its text grows, becomes definitive or turns out to be none. */
  readonly key: number
  /** Milliseconds of audio since the first sample of the session; absent if the service sends no times. */
  readonly startMs?: number | undefined
  /** The end of the line, in milliseconds of audio since the first sample of the session. */
  readonly endMs?: number | undefined
}

/** The words of one result: first of partials, then definitive. */
export interface SpokenLine extends Line {
  readonly type: 'speech'
  /** 0 or 1; 0 if the service does not name it. */
  readonly channel: number
  /** The name of the channel, from the option `speakers`. */
  readonly speaker?: string | undefined
  /** The beginning of the text, which does not change any more. */
  readonly committed: string
  /** The text after it, which can change; starts with the space that separates them. Empty in a definitive line. */
  readonly tentative: string
  /** Whether the line does not change any more. */
  readonly isDefinitive: boolean
  /** The words of a definitive line, if the service sends them. */
  readonly words?: readonly Word[] | undefined
}

/** Sound without text: it was no speech, or none that the model knows. */
export interface RejectedLine extends Line {
  readonly type: 'rejected'
  /** 0 or 1; 0 if the service does not name it. */
  readonly channel: number
  /** The name of the channel, from the option `speakers`. */
  readonly speaker?: string | undefined
}

/** Audio that was dropped. Adjacent gaps of one cause are one line, which grows. */
export interface GapLine extends Line {
  readonly type: 'gap'
  /** The channel, if it is only one. */
  readonly channel?: number | undefined
  /** Why the audio was dropped; never `silence`. */
  readonly cause: GapCause
}
