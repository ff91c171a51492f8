import type { SessionEvent } from '../protocol/session-event.js'
import type { ReplayBuffer } from './audio/replay-buffer.js'
import { RateLimiter } from './audio/rate-limiter.js'
import { ResultTimeline } from './results/timeline.js'
import { InactivityMonitor } from './inactivity-monitor.js'
import type { SessionSettings } from './options.js'
import { Succession, type Predecessor } from './succession.js'

/** What a session needs from its first connection on and not before: a browser loads it while it connects. */
export interface Equipment<In, Out> {
  readonly results: ResultTimeline
  /** Unless a lost connection is the session's end. */
  readonly succession: Succession<In, Out> | undefined
  readonly silence: InactivityMonitor
  readonly newPace: (burst: boolean) => RateLimiter
}

/** Whose equipment it is. */
export interface Equipped<In, Out> extends Predecessor<In, Out> {
  readonly settings: Pick<SessionSettings, 'bounds' | 'deadlines' | 'resumption' | 'scheduler' | 'silenceTimeoutMs'>
  readonly tape: ReplayBuffer
  emit(event: SessionEvent): void
}

export const equip = <In, Out>(owner: Equipped<In, Out>): Equipment<In, Out> => {
  const { bounds, deadlines, resumption, scheduler, silenceTimeoutMs } = owner.settings
  return {
    results: new ResultTimeline(owner.tape, bounds.format, scheduler),
    succession:
      resumption &&
      new Succession(owner, {
        scheduler,
        maxConnectionMs: resumption.maxConnectionMs,
        readyWithinMs: deadlines.connecting + deadlines.starting,
      }),
    silence: new InactivityMonitor(silenceTimeoutMs, scheduler, (forMs) =>
      owner.emit({ type: 'connection', state: 'silent', forMs }),
    ),
    newPace: (burst) => new RateLimiter(bounds.format, scheduler, burst),
  }
}
