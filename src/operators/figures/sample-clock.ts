import { asyncScheduler, defer, tap, type MonoTypeOperatorFunction, type SchedulerLike } from 'rxjs'
import { msForBytes, validateFormat, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { ClockMarks } from './clock-marks.js'
import { LineFit } from './line-fit.js'

export interface SampleClockOptions {
  readonly format: AudioFormat
  /** How many moments are remembered, 16 to 65 536: half of them the last ones, half of all since the beginning. Default 1024. */
  readonly maxMarks?: number
  /** The clock that `wallMs` is told by. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/** Counts samples, and says when they came by. */
export interface SampleClock {
  /**
   * An operator that counts what passes and hands it on as it is. Each subscription begins anew: a clock is for one
   * session at a time. Needs no timer and nothing of the samples but their number.
   */
  readonly count: () => MonoTypeOperatorFunction<Uint8Array>
  /** How much audio has passed, in milliseconds. */
  readonly audioMs: () => number
  /** When the audio at this place came by, in milliseconds of the scheduler's clock; undefined where it has not yet. */
  readonly wallMsAt: (audioMs: number) => number | undefined
  /** How much audio had passed at a moment, in milliseconds; undefined for a moment before the first sample. */
  readonly audioMsAt: (wallMs: number) => number | undefined
  /**
   * How much faster the samples come than their rate says, in parts per million of the scheduler's clock, by least
   * squares over all chunks; negative where they come slower. Undefined within the first second, and without meaning for
   * a source that is not at the pace of real time.
   */
  readonly driftPpm: () => number | undefined
}

/** Before that, the jitter of single chunks would be all that is seen. */
const shortestDriftMs = 1000

/**
 * A clock that runs by samples: put `count()` into the audio's way, and places in the audio can be told as moments, and
 * moments as places, also for a source that is faster or slower than real time. Throws `invalid-format` or
 * `invalid-options`.
 */
export const sampleClock = ({
  format,
  maxMarks = 1024,
  scheduler = asyncScheduler,
}: SampleClockOptions): SampleClock => {
  validateFormat(format)
  if (!(maxMarks >= 16 && maxMarks <= 65_536)) {
    throw new SpeechError('invalid-options', `maxMarks must be a number from 16 to 65536, not ${maxMarks}.`)
  }
  let marks = new ClockMarks(maxMarks)
  let fit = new LineFit()
  let byteCount = 0
  const pass = (chunk: Uint8Array): void => {
    const wallMs = scheduler.now()
    // What came before the first chunk came with it: when its first sample was recorded cannot be known.
    if (byteCount === 0) marks.add({ audioMs: 0, wallMs })
    byteCount += chunk.byteLength
    const audioMs = msForBytes(format, byteCount)
    marks.add({ audioMs, wallMs })
    fit.add(wallMs, audioMs)
  }
  return {
    count: () => (source$) =>
      defer(() => {
        marks = new ClockMarks(maxMarks)
        fit = new LineFit()
        byteCount = 0
        return source$.pipe(tap(pass))
      }),
    audioMs: () => msForBytes(format, byteCount),
    wallMsAt: (audioMs) => marks.wallMsAt(audioMs),
    audioMsAt: (wallMs) => marks.audioMsAt(wallMs),
    driftPpm: () => {
      const slope = fit.spanX < shortestDriftMs ? undefined : fit.slope()
      return slope === undefined ? undefined : (slope - 1) * 1e6
    },
  }
}
