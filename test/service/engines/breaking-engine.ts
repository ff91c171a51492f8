import { concatMap, defer, of, throwError, type Observable } from 'rxjs'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from '../../../src/service/engines/engine.js'

export interface BreakingEngine extends Engine {
  /** Lanes that were subscribed. */
  readonly lanes: () => number
}

/**
 * The engine, but each lane breaks where its script says: the first lane of all at the part with the first number
 * (counted from 1), the second at that with the second, and so on; those without a number hold.
 */
export const breakingEngine = (
  engine: Engine,
  breakAtPart: readonly (number | undefined)[],
  fault: () => unknown = () => new SpeechError('engine-failed', 'A scripted fault.'),
): BreakingEngine => {
  let lanes = 0
  return {
    ...engine,
    lanes: () => lanes,
    recognize:
      () =>
      (part$: Observable<SegmentPart>): Observable<Hypothesis> =>
        defer(() => {
          const at = breakAtPart[lanes]
          lanes += 1
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
