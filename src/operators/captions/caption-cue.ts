/** A line as it is shown: what stands, and behind it what may still change. */
export interface CaptionLine {
  /** Words that will never change. */
  readonly stable: string
  /** Words that may; begins with the space that parts them from `stable`, where there is one. */
  readonly changing: string
}

/** A caption, each time that it changes: replace what is shown under the same `id`. */
export interface CaptionCue {
  /** From 1, in the order in which cues appeared; it is never used again. */
  readonly id: number
  /**
   * `live` may still change; `final` never does and is told once; `withdrawn` was live and holds nothing any more, since
   * its words were taken back.
   */
  readonly state: 'live' | 'final' | 'withdrawn'
  /** 0 or 1; 0 where the service does not say. */
  readonly channel: number
  /** Who speaks on the channel, of the option `speakers`. */
  readonly speaker?: string
  /** Milliseconds of audio since the session's first sample. Cues of one channel never overlap. */
  readonly startMs: number
  readonly endMs: number
  readonly lines: readonly CaptionLine[]
  /** All lines, one below the other. */
  readonly text: string
  /**
   * What the times rest on, the weakest of its words: times of words; times of results, shared out among their words; or
   * the moment when the result came.
   */
  readonly times: CueTimes
  /** Words of this channel that were shown and taken back so far, all from the first that differs on (erasure). */
  readonly flicker: number
  /** Words of this channel that were committed and that the definitive text has otherwise; they stay as they were shown. */
  readonly contradicted: number
}

/** From strong to weak. */
export type CueTimes = 'words' | 'results' | 'arrival'

export const weakest = (one: CueTimes, other: CueTimes): CueTimes =>
  one === 'arrival' || other === 'arrival' ? 'arrival' : one === 'results' || other === 'results' ? 'results' : 'words'
