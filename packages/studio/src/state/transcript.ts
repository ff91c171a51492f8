import type { GapCause, RecognitionOptions } from 'rxspeech'
import type { CaptionWord } from './words.js'

/** What a line says: words, sound that matches nothing that the model knows, or audio that was lost. */
export type LineStatus = 'recognized' | 'rejected' | 'gap'

/** A line of a transcript: definitive words of one speaker, or what there is in place of words. */
export interface TranscriptLine {
  /** Unique in its transcript. */
  readonly id: number
  readonly channel: number
  readonly startMs: number
  readonly endMs: number
  readonly status: LineStatus
  /** Empty unless the line is `recognized`. */
  readonly words: readonly CaptionWord[]
  /** The indexes of the words with which the results begin. */
  readonly starts: readonly number[]
  /** Why audio was lost. */
  readonly cause?: GapCause | undefined
}

/** Where the audio of a session came from. */
export type Origin = 'microphone' | 'sample' | 'file' | 'cassette'

/** Everything that is read of a session: what the captions show, and what is kept, searched and exported. */
export interface TranscriptDocument {
  readonly id: string
  readonly title: string
  readonly origin: Origin
  /** In milliseconds since 1970. */
  readonly startedAtMs: number
  readonly durationMs: number
  /** The name of the model. */
  readonly model: string
  /** What else a person has chosen; absent where nothing was. */
  readonly recognition?: RecognitionOptions | undefined
  /** Why the session failed, and what to do; absent if it did not. */
  readonly fault?: string | undefined
  /** The name of the speaker of each channel. */
  readonly speakers: readonly string[]
  /** In the order of time. */
  readonly lines: readonly TranscriptLine[]
}

export const hasWords = ({ lines }: Pick<TranscriptDocument, 'lines'>): boolean =>
  lines.some(({ words }) => words.length > 0)
