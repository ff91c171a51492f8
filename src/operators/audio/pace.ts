import {
  asyncScheduler,
  catchError,
  defer,
  EMPTY,
  endWith,
  from,
  interval,
  merge,
  mergeMap,
  startWith,
  Subject,
  takeUntil,
  tap,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs'
import { bytesForMs, msForBytes, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import { anything, checkOption, checkOptions, number, optionsOf, schedulerValue } from '../../protocol/validation.js'
import { ChunkQueue, chunkBytesOf } from './chunk-queue.js'
import { pullable } from '../interop/pull.js'

/** The pace of the output, and how much may wait. */
export interface PaceOptions {
  /** The format of the source. */
  readonly format: AudioFormat
  /** Length of a chunk in milliseconds, rounded down to whole samples. @default 20 (PROTOCOL 3.2) */
  readonly everyMs?: number | undefined
  /** Speed relative to real time, up to 1000. @default 1 */
  readonly speed?: number | undefined
  /** How much of a stall is caught up at once, in milliseconds; the rest delays all audio. @default 500 */
  readonly maxCatchUpMs?: number | undefined
  /** How much audio of an Observable is buffered, in milliseconds. @default 5000 */
  readonly maxBufferMs?: number | undefined
  /** The clock and the timer. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const paceOptions = optionsOf<PaceOptions>()(
  { format: anything },
  {
    everyMs: number(),
    speed: number({ min: 0.001, max: 1000 }),
    maxCatchUpMs: number({ min: 0, max: 3_600_000 }),
    maxBufferMs: number(),
    scheduler: schedulerValue,
  },
)

/**
 * Emits audio at the pace of real time, in chunks of `everyMs` as `chunk` cuts them: for files, and for sources that
 * deliver in bursts.
 *
 * An iterable, an async iterable (such as a Node stream) or a Web stream is pulled, slice by slice, as its audio is
 * consumed: `pace({ format })(createReadStream(path))`. An Observable pushes, as in `audio$.pipe(pace({ format }))`: up
 * to `maxBufferMs` are buffered, and more is the error `too-fast`.
 *
 * A chunk is due when all audio before it has been played, counted from the first chunk, so delays do not accumulate.
 * One timer ticks every 10 to 20 ms; chunks are up to one tick late and never early.
 * - Completion: emits a shorter last chunk when it is due, then completes when that has been played; `cut-sample` if a
 *   sample is incomplete.
 * - Error of the source: passed on after the audio before it. `too-fast`: at once.
 * - Unsubscription: ends the timer and the source (`return()` of an iterator, `cancel()` of a Web stream).
 * - Buffering: of a pulled source one slice and what the next tick needs; of an Observable at most `maxBufferMs`.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * pace({ format })(createReadStream('call.raw')).pipe(recognize(options))
 * ```
 */
export const pace = (options: PaceOptions): ((source: ObservableInput<Uint8Array>) => Observable<Uint8Array>) => {
  checkOptions(paceOptions, options)
  const {
    format,
    everyMs = 20,
    speed = 1,
    maxCatchUpMs = 500,
    maxBufferMs = 5000,
    scheduler = asyncScheduler,
  } = options
  const chunkBytes = chunkBytesOf(format, everyMs)
  checkOption('maxBufferMs', number({ min: everyMs, max: 3_600_000 }), maxBufferMs)
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

type Supply =
  { readonly type: 'open' } | { readonly type: 'ended' } | { readonly type: 'failed'; readonly error: unknown }

/** The buffered audio, when it is due, and the state of its source. */
class Playout {
  readonly #format: AudioFormat
  readonly #queue: ChunkQueue
  readonly #clock: PlayoutClock
  readonly #lowBytes: number
  readonly #wanted$ = new Subject<void>()
  readonly #over$ = new Subject<void>()
  #supply: Supply = { type: 'open' }

  /** Requests more audio when `lowBytes` (at least a chunk) or less are buffered. */
  constructor(format: AudioFormat, queue: ChunkQueue, clock: PlayoutClock, lowBytes: number) {
    this.#format = format
    this.#queue = queue
    this.#clock = clock
    this.#lowBytes = lowBytes
  }

  /** Emits when a pulled source should deliver a slice. */
  get wanted$(): Observable<void> {
    return this.#wanted$.asObservable()
  }

  /** Emits when all audio has been emitted and played. */
  get over$(): Observable<void> {
    return this.#over$.asObservable()
  }

  /** Reads the source and emits on each change. Its error waits for the audio before it; `too-fast` is immediate. */
  fill(slices$: Observable<Uint8Array>, maxBufferMs: number): Observable<unknown> {
    return slices$.pipe(
      catchError((error: unknown) => {
        this.#supply = { type: 'failed', error }
        return EMPTY
      }),
      tap({
        next: (slice) => {
          this.#queue.add(slice)
          if (msForBytes(this.#format, this.#queue.bufferedBytes) <= maxBufferMs) return
          const remedy = 'pass a source that can be pulled, or raise maxBufferMs'
          throw new SpeechError('too-fast', `More than ${maxBufferMs} ms of audio are waiting to be paced; ${remedy}.`)
        },
        complete: () => {
          if (this.#supply.type === 'open') this.#supply = { type: 'ended' }
        },
      }),
      endWith(undefined),
    )
  }

  /** The chunks that are due. At the end of the source: the remainder, then its error or `over$`. */
  *due(nowMs: number): Generator<Uint8Array> {
    this.#clock.tick(nowMs)
    for (;;) {
      // First, because a source may deliver within this call.
      this.#replenish()
      if (!this.#clock.isDue(nowMs)) return
      const chunk = this.#queue.take() ?? (this.#supply.type === 'open' ? undefined : this.#queue.takeRest())
      if (chunk === undefined) break
      this.#clock.played(nowMs, msForBytes(this.#format, chunk.byteLength))
      yield chunk
    }
    this.#end()
  }

  /** Asks again as long as the source delivers within the call. */
  #replenish(): void {
    for (let before = -1; this.#queue.bufferedBytes > before && this.#isLow();) {
      before = this.#queue.bufferedBytes
      this.#wanted$.next()
    }
  }

  #isLow(): boolean {
    return this.#supply.type === 'open' && this.#queue.bufferedBytes <= this.#lowBytes
  }

  #end(): void {
    if (this.#supply.type === 'open') return
    if (this.#supply.type === 'failed') throw this.#supply.error
    this.#queue.assertComplete()
    this.#over$.next()
  }
}

/** Timers have a resolution of a millisecond and can fire that much early. */
const toleranceMs = 1

/**
 * When the next chunk is due: the start plus the audio before it, so that late timers do not add up to a drift. All
 * times are milliseconds of the scheduler's clock.
 */
class PlayoutClock {
  readonly #speed: number
  readonly #maxCatchUpMs: number
  readonly #maxAheadMs: number
  #startMs: number | undefined
  #audioMs = 0

  /** `maxAheadMs`: how far away the next chunk can be while the clock runs forward. */
  constructor(speed: number, maxCatchUpMs: number, maxAheadMs: number) {
    this.#speed = speed
    this.#maxCatchUpMs = maxCatchUpMs
    this.#maxAheadMs = maxAheadMs
  }

  /** The first chunk is due when it arrives. */
  isDue(nowMs: number): boolean {
    return this.#startMs === undefined || this.#dueMs(this.#startMs) <= nowMs + toleranceMs
  }

  played(nowMs: number, audioMs: number): void {
    this.#startMs ??= nowMs
    this.#audioMs += audioMs
  }

  /** Called before each check: moves the start after a stall, so that at most `maxCatchUpMs` are caught up. */
  tick(nowMs: number): void {
    if (this.#startMs === undefined) return
    const lateMs = nowMs - this.#dueMs(this.#startMs)
    if (lateMs > this.#maxCatchUpMs) this.#startMs += lateMs - this.#maxCatchUpMs
    // Only a clock that was set back makes a chunk wait longer than the one before it lasts.
    else if (-lateMs > this.#maxAheadMs) this.#startMs += lateMs + this.#maxAheadMs
  }

  #dueMs(startMs: number): number {
    return startMs + this.#audioMs / this.#speed
  }
}
