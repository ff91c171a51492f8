import { from, lastValueFrom, toArray } from 'rxjs'
import { isSpeechError } from '../../../src/errors/speech-error.js'
import type { Engine, Hypothesis, SegmentPart } from '../src/engine.js'
import { isLoss } from '../src/segment-retry.js'

/** What an engine outputs for one segment with this audio. */
export const recognize = (engine: Engine, samples: Int16Array, endMs = 6_000): Promise<Hypothesis[]> => {
  const parts: readonly SegmentPart[] = [
    { type: 'open', startMs: 5_000 },
    { type: 'audio', samples },
    { type: 'close', endMs },
  ]
  return lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))
}

export const segmentOf = (output: readonly Hypothesis[]) => output.find(({ type }) => type === 'segment')

/** The code of an error, and what is done about it. */
export const kindOf = (error: unknown): string => {
  if (!isSpeechError(error)) return String(error)
  return `${error.code}${error.retryable ? ' retryable' : ''}${isLoss(error) ? ' loss' : ''}`
}
