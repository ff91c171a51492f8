import type { SegmentAttempt } from 'rxspeech-engines/engine'
import type { ProcessAddress } from './protocol.js'

/** An attempt to recognize a segment has begun between an edge and an engine process, or ended without a result. */
export interface AttemptReport extends SegmentAttempt {
  /** The label of the model. */
  readonly model: string
  /** The process at the other end. */
  readonly peer: ProcessAddress
  /** Why it ended; absent when it begins. */
  readonly lost?: string | undefined
}
