import type { Accumulated } from 'rxspeech/internal/operators/results/transcript'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'

/** Shows a session while it runs. */
export interface View {
  /** Each event, and the transcript after it. */
  readonly event: (event: SessionEvent, transcript: Accumulated) => void
  /** Milliseconds of audio that have been sent. */
  readonly sent: (audioMs: number) => void
  /** Ends the view: lines that may still change are removed. Idempotent. */
  readonly end: () => void
}
