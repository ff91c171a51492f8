import type { Accumulated } from '../../operators/results/accumulate-milestones.js'
import type { SessionEvent } from '../../protocol/session-event.js'

/** Shows a session while it runs. */
export interface View {
  /** Each event, and the transcript after it. */
  readonly event: (event: SessionEvent, transcript: Accumulated) => void
  /** Milliseconds of audio that have been sent. */
  readonly sent: (audioMs: number) => void
  /** Ends the view: lines that may still change are removed. Idempotent. */
  readonly end: () => void
}
