import { asyncScheduler, defer, from, interval, merge, mergeMap, startWith, takeUntil } from 'rxjs'
import type { Observable, ObservableInput, SchedulerLike } from 'rxjs'
import { bytesForMs, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import { ChunkQueue, chunkBytesOf } from './chunk-queue.js'
import { PlayoutClock } from './playout-clock.js'
import { Playout } from './playout.js'
import { pullable } from './pull.js'

export interface PaceOptions {
  readonly format: AudioFormat
  /** Length of a chunk in milliseconds, rounded down to whole samples; default 20 (service.md 4.1 rule 5). */
  readonly everyMs?: number
  /** Times real time, up to 1000; default 1. */
  readonly speed?: number
  /** After a stall: how much of the lost time is made up for at once, in milliseconds; the rest stays lost. Default 500. */
  readonly maxCatchUpMs?: number
  /** Of a source that pushes: how much audio may wait, in milliseconds; default 5000. */
  readonly maxBufferMs?: number
  /** The clock and the one timer. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/**
 * Lets audio out at the pace of real time, in chunks of `everyMs` as `chunk` cuts them: for files, and for sources
 * that come in bursts.
 *
 * An iterable, an async iterable (such as a Node stream) or a Web stream is pulled, slice by slice, as the audio is used
 * up: `pace({ format })(createReadStream(path))`. An Observable pushes, as in `audio$.pipe(pace({ format }))`: what waits is
 * bounded by `maxBufferMs`, and beyond it the error is `too-fast`.
 *
 * A chunk is due when all audio before it has lasted, counted from the first chunk, so lateness never adds up. One timer
 * ticks every 10 to 20 ms; chunks come out up to a tick late, never early.
 * - Completion: a shorter last chunk in its turn, then complete when that has lasted too. Where a sample was cut,
 *   error `cut-sample` instead.
 * - Error of the source: in its turn, after the audio that came before it. `too-fast`: at once.
 * - Unsubscribe: ends the timer and the source (`return()` of an iterator, `cancel()` of a Web stream); what waits is gone.
 * - Buffered: of a pulled source one slice and what the next tick needs; of a pushed one at most `maxBufferMs`.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 */
export const pace = (options: PaceOptions): ((source: ObservableInput<Uint8Array>) => Observable<Uint8Array>) => {
  const {
    format,
    everyMs = 20,
    speed = 1,
    maxCatchUpMs = 500,
    maxBufferMs = 5000,
    scheduler = asyncScheduler,
  } = options
  const chunkBytes = chunkBytesOf(format, everyMs)
  assertBetween('speed', speed, 0.001, 1000)
  assertBetween('maxCatchUpMs', maxCatchUpMs, 0, 3_600_000)
  assertBetween('maxBufferMs', maxBufferMs, everyMs, 3_600_000)
  const tickMs = Math.min(20, Math.max(10, everyMs / speed))
  return (source) =>
    defer(() => {
      const clock = new PlayoutClock(speed, maxCatchUpMs, everyMs / speed + tickMs)
      const lowBytes = Math.max(chunkBytes, bytesForMs(format, tickMs * speed))
      const playout = new Playout(format, new ChunkQueue(format, chunkBytes), clock, lowBytes)
      const pulled$ = pullable(source, playout.wanted$)
      const filled$ = pulled$ ? playout.fill(pulled$, Infinity) : playout.fill(from(source), maxBufferMs)
      return merge(filled$, interval(tickMs, scheduler).pipe(startWith(0))).pipe(
        mergeMap(() => playout.due(scheduler.now())),
        takeUntil(playout.over$),
      )
    })
}

const assertBetween = (option: keyof PaceOptions, value: number, least: number, most: number): void => {
  if (value >= least && value <= most) return
  throw new SpeechError('invalid-options', `${option} must be a number from ${least} to ${most}, not ${value}.`)
}
