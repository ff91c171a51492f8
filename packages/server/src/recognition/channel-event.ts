import type { RecognizedSegment } from 'rxspeech-engines/engine'
import type { Defined } from 'rxspeech-engines/without-undefined'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { JsonObject } from 'rxspeech/internal/protocol/json-object'
import type { Silence, VoiceEvent } from './segment-machine.js'

/** The name of the event that reports withheld partials to a client (PROTOCOL 3.3). */
export const partialsThinned = 'Partials Thinned'

export const partialsThinnedData = ({
  phase,
  intervalMs,
}: Extract<ChannelEvent, { readonly type: 'partials-thinned' }>): JsonObject => ({
  Phase: phase,
  IntervalMsec: intervalMs,
})

/** Why a recognition ended: its audio ended, the graceful silence was reached, or no audio arrived any more. */
export type EndCause = 'finalized' | 'graceful-silence' | 'idle'

/** The results of one channel. Times are whole milliseconds of audio since the channel's first sample. */
export type ChannelEvent =
  | VoiceEvent
  /** No speech in `[startMs, endMs)`. All audio before `endMs` has its results: no later result begins before it. */
  | Silence
  /** The speech since the last milestone as far as the engine has processed it, without the separator. */
  | {
      readonly type: 'partial'
      readonly startMs: number
      readonly endMs: number
      readonly text: string
      /** As in `Hypothesis`; absent if it is 0. */
      readonly stableLength?: number
    }
  /**
   * Never empty. Each one after the first begins with the separator, so that all texts concatenated give the final's.
   * Its confidence is the mean of the words' posteriors weighted by their length, if the engine gives some.
   */
  | ({ readonly type: 'milestone'; readonly isIncomplete?: true } & Defined<Omit<RecognizedSegment, 'isIncomplete'>>)
  /** The segment `[startMs, endMs)` has no text: it was not speech, or not speech of this model. */
  | { readonly type: 'no-match'; readonly startMs: number; readonly endMs: number }
  /** The last event, exactly one. It spans the milestones, or all of the audio if there was none. */
  | {
      readonly type: 'final'
      readonly startMs: number
      readonly endMs: number
      readonly text: string
      /** Absent if no word was recognized. */
      readonly confidence?: number
      /** How far the audio was processed; audio after that is ignored. */
      readonly heardMs: number
      readonly cause: EndCause
    }
  /**
   * The engine failed within the segment that began at `startMs`. If `retried`, the segment is decoded again; if not,
   * the error itself follows.
   */
  | { readonly type: 'fault'; readonly startMs: number; readonly error: SpeechError; readonly retried: boolean }
  /**
   * The service is overloaded and withholds partials that come within `intervalMs` of another, or its engine has no
   * time for more, or both are over. `startMs` is the position up to which the audio was read.
   */
  | {
      readonly type: 'partials-thinned'
      readonly phase: 'begun' | 'ended'
      readonly startMs: number
      readonly intervalMs: number
    }
  /** `sampleCount` more samples of the input are processed. The samples sent minus these are pending. */
  | { readonly type: 'progress'; readonly sampleCount: number }
