/** A line of a caption: the definitive text, followed by the text that can still change. */
export interface CaptionLine {
  /** Words that do not change any more: they are committed, or the service says so (`stableLength` of a partial). */
  readonly stable: string
  /** Words that can change; starts with the space that separates them from `stable`, if there is one. */
  readonly changing: string
}

/** A caption, emitted each time it changes: replace what you show under the same `id`. */
export interface CaptionCue {
  /** From 1, in the order of appearance. Never reused. */
  readonly id: number
  /**
   * `live` can still change; `final` does not and is emitted once; `withdrawn` was live and is now empty, because its
   * words were revised.
   */
  readonly state: 'live' | 'final' | 'withdrawn'
  /** 0 or 1; 0 if the service does not name it. */
  readonly channel: number
  /** The name of the channel, from the option `speakers`. */
  readonly speaker?: string | undefined
  /** Milliseconds of audio since the first sample of the session. Cues of one channel do not overlap. */
  readonly startMs: number
  /** The end of its last word, in milliseconds of audio since the first sample of the session. */
  readonly endMs: number
  /** The lines, from top to bottom. */
  readonly lines: readonly CaptionLine[]
  /** All lines, separated by line breaks. */
  readonly text: string
  /**
   * The source of the times, the weakest of all words: times of words; times of results, divided among their words; or
   * the arrival of the result.
   */
  readonly times: CueTimes
  /** Words of this channel that were shown and revised so far, counted from the first that differs (erasure). */
  readonly flicker: number
  /** Committed words of this channel that differ from the definitive text. They stay as they were shown. */
  readonly contradicted: number
}

/** From strongest to weakest. */
export type CueTimes = 'words' | 'results' | 'arrival'

export const weakest = (a: CueTimes, b: CueTimes): CueTimes =>
  a === 'arrival' || b === 'arrival' ? 'arrival' : a === 'results' || b === 'results' ? 'results' : 'words'
