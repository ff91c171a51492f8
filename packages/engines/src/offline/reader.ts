import type { SegmentText } from '../engine.js'

/** Audio that is read as a whole. */
export interface ReadRequest {
  /** 16-bit samples of one channel, at the rate of the engine. */
  readonly samples: Int16Array
  /**
   * `final`: the result, read as accurately as possible. `partial`: the text of an open segment so far, which may
   * be read faster and less exactly.
   */
  readonly purpose: 'final' | 'partial'
  /** ISO 639-1, such as `en`. @default that of the model, or the language that it detects */
  readonly language?: string | undefined
  /** See `RecognizeSettings`. @default none */
  readonly phrases?: readonly string[] | undefined
}

/** A word of a reading. Times are in milliseconds since the first sample of the request. */
export interface ReadWord {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  /** 0 to 1; absent if the recognizer has no probability for it. */
  readonly confidence?: number | undefined
}

/** What was read. */
export interface Reading extends Pick<SegmentText, 'text' | 'confidence'> {
  /** The words of the text, in order; absent if the recognizer has no times. */
  readonly words?: readonly ReadWord[] | undefined
  /** The probability that there is no speech, from 0 to 1; absent if the recognizer has none. */
  readonly noSpeechProbability?: number | undefined
}

/**
 * Reads audio as a whole: a model of a library in processes of its own, or another server. `createOfflineEngine` makes
 * an engine of it, which decides what is read when.
 */
export interface Reader {
  /** How many requests it works on at the same time. The engine has no more than that in flight. */
  readonly readsAtOnce: number
  /**
   * Whether it stops the work when a signal is aborted, so that a partial gives its place to a result that waits.
   * @default false
   */
  readonly stops?: boolean | undefined
  /**
   * Rejects with `engine-failed` or `overloaded`, see `Engine`. Once the signal is aborted the result is not used any
   * more; the reader may stop the work, and rejects.
   */
  read(request: ReadRequest, signal: AbortSignal): Promise<Reading>
  /** How long it has worked, see `Engine.busyMs`. */
  busyMs?(): number | undefined
  /** See `Engine.memoryBytes`. */
  memoryBytes?(): number | undefined
  /** Ends what it started. Idempotent. */
  close(): Promise<void>
}
