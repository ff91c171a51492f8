import { defer, filter, mergeMap, type Observable, type OperatorFunction } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { endWithRest } from '../end-with-rest.js'
import type { CaptionCue } from './caption-cue.js'

/** How cues are written one behind the other. */
export interface CueOrder {
  /**
   * How many channels there are: then cues are put in the order of their starts, as a file should have them, and each
   * waits until every channel has one that starts no earlier, or the end. Without it each is written when it is final.
   */
  readonly channels?: number
}

/** How many cues may wait; then the earliest goes. Some six hours of talk. */
const mostWaiting = 10_000

/** The final cues alone, in their order; an error comes behind those that wait. Throws `invalid-options`. */
export const inOrder = ({ channels = 1 }: CueOrder): OperatorFunction<CaptionCue, CaptionCue> => {
  if (!Number.isInteger(channels) || channels < 1 || channels > 64) {
    throw new SpeechError('invalid-options', 'channels must be a whole number from 1 to 64.')
  }
  return (cues$) => {
    const final$ = cues$.pipe(filter(({ state }) => state === 'final'))
    return channels === 1 ? final$ : sorted(final$, channels)
  }
}

const sorted = (final$: Observable<CaptionCue>, channels: number): Observable<CaptionCue> =>
  defer(() => {
    const waiting: CaptionCue[] = []
    /** Up to where each channel's cues are known. */
    const reached = new Map<number, number>()
    const knownMs = (): number => (reached.size < channels ? -Infinity : Math.min(...reached.values()))
    function* due(untilMs: number): Generator<CaptionCue> {
      while (waiting.length > 0 && ((waiting[0]?.startMs ?? 0) <= untilMs || waiting.length > mostWaiting)) {
        const [cue] = waiting.splice(0, 1)
        if (cue !== undefined) yield cue
      }
    }
    return final$.pipe(
      mergeMap((cue) => {
        reached.set(cue.channel, Math.max(cue.startMs, reached.get(cue.channel) ?? 0))
        const after = waiting.findLastIndex(({ startMs }) => startMs <= cue.startMs)
        waiting.splice(after + 1, 0, cue)
        return due(knownMs())
      }),
      endWithRest(() => due(Infinity)),
    )
  })
