import type { SpeechError } from '../../errors/speech-error.js'
import type { Word } from '../../protocol/session-event.js'
import type { Silence, VoiceEvent } from './segmenter-output.js'

/** Why a recognition ended: its audio did, nobody spoke for the graceful silence, or no audio came any more. */
export type EndCause = 'finalized' | 'graceful-silence' | 'idle'

/** What the recognition of one channel says. Times are whole milliseconds of audio since the channel's first sample. */
export type ChannelEvent =
  | VoiceEvent
  /** Nobody spoke in `[startMs, endMs)`, and all audio before `endMs` has its results: no later one begins before. */
  | Silence
  /** The speech since the last milestone, as far as the engine has heard it; without a separator before it. */
  | { readonly type: 'partial'; readonly startMs: number; readonly endMs: number; readonly text: string }
  /** Never empty. Each after the first begins with the separator, so that all texts concatenated give the final's. */
  | {
      readonly type: 'milestone'
      readonly startMs: number
      readonly endMs: number
      readonly text: string
      readonly words: readonly Word[]
      /** 0 to 1, the mean of the words' posteriors by their length; 0 where the engine gives no words. */
      readonly confidence: number
    }
  /** The last event, exactly one. It spans the milestones, or all of the audio when there was none. */
  | {
      readonly type: 'final'
      readonly startMs: number
      readonly endMs: number
      readonly text: string
      /** Absent where there was no word to be confident of. */
      readonly confidence?: number
      /** How far the audio was read; what came behind it is not looked at. */
      readonly heardMs: number
      readonly cause: EndCause
    }
  /**
   * The engine broke within the segment that began at `startMs`; `retried`: it is read again, else the error ends the
   * lane.
   */
  | { readonly type: 'fault'; readonly startMs: number; readonly error: SpeechError; readonly retried: boolean }
  /** So many samples more of the input are dealt with: what the caller has under way is what it gave less these. */
  | { readonly type: 'progress'; readonly sampleCount: number }
