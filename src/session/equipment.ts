import type { FinalEvent, SessionEvent } from '../protocol/session-event.js'
import type { AudioTape } from './audio/audio-tape.js'
import { SendingPace } from './audio/sending-pace.js'
import { HeldFinals } from './results/held-finals.js'
import { ResultTimeline } from './results/result-timeline.js'
import { RetryBudget } from './retry-budget.js'
import { ServiceSilence } from './service-silence.js'
import type { SessionSettings } from './session-options.js'
import { Succession, type SuccessionOptions } from './succession.js'

/** What a session needs from its first connection on and not before: a browser loads it while it connects. */
export interface Equipment<In, Out> {
  readonly results: ResultTimeline
  readonly finals: HeldFinals
  /** Unless a lost connection is the session's end. */
  readonly budget: RetryBudget | undefined
  readonly succession: Succession<In, Out> | undefined
  readonly silence: ServiceSilence
  readonly newPace: () => SendingPace
}

/** Whose equipment it is. */
export interface Equipped<In, Out> extends Pick<SuccessionOptions<In, Out>, 'newLine' | 'due'> {
  readonly settings: Pick<SessionSettings, 'bounds' | 'deadlines' | 'resumption' | 'scheduler' | 'silenceTimeoutMs'>
  readonly tape: AudioTape
  /** Told of a final that was held back. */
  readonly tell: (final: FinalEvent) => void
  readonly emit: (event: SessionEvent) => void
}

export const equip = <In, Out>({ settings, tape, tell, emit, newLine, due }: Equipped<In, Out>): Equipment<In, Out> => {
  const { bounds, deadlines, resumption, scheduler, silenceTimeoutMs } = settings
  const { format } = bounds
  return {
    results: new ResultTimeline(tape, format, settings.scheduler),
    finals: new HeldFinals(scheduler, tell),
    budget: resumption && new RetryBudget(resumption),
    succession:
      resumption &&
      new Succession({
        scheduler,
        maxConnectionMs: resumption.maxConnectionMs,
        readyWithinMs: deadlines.connecting + deadlines.starting,
        newLine,
        due,
      }),
    silence: new ServiceSilence(silenceTimeoutMs, scheduler, (forMs) =>
      emit({ type: 'connection', state: 'silent', forMs }),
    ),
    newPace: () => new SendingPace(format, scheduler),
  }
}
