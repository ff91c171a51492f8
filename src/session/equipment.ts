import type { SessionEvent } from '../protocol/session-event.js'
import type { AudioTape } from './audio/audio-tape.js'
import { SendingPace } from './audio/sending-pace.js'
import { ResultTimeline } from './results/result-timeline.js'
import { ServiceSilence } from './service-silence.js'
import type { SessionSettings } from './session-options.js'
import { Succession, type Predecessor } from './succession.js'

/** What a session needs from its first connection on and not before: a browser loads it while it connects. */
export interface Equipment<In, Out> {
  readonly results: ResultTimeline
  /** Unless a lost connection is the session's end. */
  readonly succession: Succession<In, Out> | undefined
  readonly silence: ServiceSilence
  readonly newPace: (burst: boolean) => SendingPace
}

/** Whose equipment it is. */
export interface Equipped<In, Out> extends Predecessor<In, Out> {
  readonly settings: Pick<SessionSettings, 'bounds' | 'deadlines' | 'resumption' | 'scheduler' | 'silenceTimeoutMs'>
  readonly tape: AudioTape
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
    silence: new ServiceSilence(silenceTimeoutMs, scheduler, (forMs) =>
      owner.emit({ type: 'connection', state: 'silent', forMs }),
    ),
    newPace: (burst) => new SendingPace(bounds.format, scheduler, burst),
  }
}
