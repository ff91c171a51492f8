import { Subscription, take, type Observable } from 'rxjs'
import { toSpeechError, type SpeechError } from '../errors/speech-error.js'
import type { SessionSettings } from './options.js'

/** What the signals of a user, and of the other half of a pair, do to a session. */
export interface SignalTarget {
  /** `finalize$`. */
  end(): void
  /** `stop$`. */
  stop(): void
  /** `abort$`, or the error of a signal. */
  abort(error: SpeechError): void
}

/** Subscribes to the signals of a session, of which each counts once. */
export const followSignals = (
  { finalize$, stop$ }: Pick<SessionSettings, 'finalize$' | 'stop$'>,
  abort$: Observable<SpeechError> | undefined,
  target: SignalTarget,
): Subscription => {
  const signals = new Subscription()
  const follow = (name: string, signal$: Observable<unknown> | undefined, next: () => void): void => {
    const error = (cause: unknown): void =>
      target.abort(toSpeechError(cause, 'source-failed', `${name} failed; see the cause.`))
    signals.add(signal$?.pipe(take(1)).subscribe({ next, error }))
  }
  signals.add(abort$?.subscribe((error) => target.abort(error)))
  follow('finalize$', finalize$, () => target.end())
  follow('stop$', stop$, () => target.stop())
  return signals
}
