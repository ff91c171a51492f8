import { concatMap, defer, of, throwError, type Observable } from 'rxjs'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from '../src/engine.js'

export interface BreakingEngine extends Engine {
  /** Number of subscribed channels. */
  readonly attempts: () => number
}

/**
 * The same engine, but its channels fail as scripted: the first subscribed channel at the part with the first number
 * (counted from 1), the second at that with the second number, and so on. Those without a number do not fail.
 */
export const breakingEngine = (
  engine: Engine,
  breakAtPart: readonly (number | undefined)[],
  fault: () => unknown = () => new SpeechError('engine-failed', 'A scripted fault.'),
): BreakingEngine => {
  let attempts = 0
  return {
    ...engine,
    attempts: () => attempts,
    recognize:
      () =>
      (part$: Observable<SegmentPart>): Observable<Hypothesis> =>
        defer(() => {
          const at = breakAtPart[attempts]
          attempts += 1
          let parts = 0
          return part$.pipe(
            concatMap((part) => {
              parts += 1
              return parts === at ? throwError(fault) : of(part)
            }),
            engine.recognize(),
          )
        }),
  }
}
