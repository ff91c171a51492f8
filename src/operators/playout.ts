import { catchError, EMPTY, endWith, Subject, tap, type Observable } from 'rxjs'
import { msForBytes, type AudioFormat } from '../audio/format.js'
import { SpeechError } from '../errors/speech-error.js'
import type { ChunkQueue } from './chunk-queue.js'
import type { PlayoutClock } from './playout-clock.js'

type Supply =
  { readonly type: 'open' } | { readonly type: 'ended' } | { readonly type: 'failed'; readonly error: unknown }

/** Audio on its way out: what waits in a queue, when it is due, and what is known of its source. */
export class Playout {
  readonly #format: AudioFormat
  readonly #queue: ChunkQueue
  readonly #clock: PlayoutClock
  readonly #lowBytes: number
  readonly #wanted$ = new Subject<void>()
  readonly #over$ = new Subject<void>()
  #supply: Supply = { type: 'open' }

  /** With `lowBytes` or less, at least a chunk, more is asked for. */
  constructor(format: AudioFormat, queue: ChunkQueue, clock: PlayoutClock, lowBytes: number) {
    this.#format = format
    this.#queue = queue
    this.#clock = clock
    this.#lowBytes = lowBytes
  }

  /** Emits when a source that can be asked should give a slice. */
  get wanted$(): Observable<void> {
    return this.#wanted$.asObservable()
  }

  /** Emits when all audio has been let out and has lasted. */
  get over$(): Observable<void> {
    return this.#over$.asObservable()
  }

  /** Takes the source in and emits with each change of it; its error waits for its turn, `too-fast` is an error at once. */
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
          const remedy = 'give a source that can be pulled, or raise maxBufferMs'
          throw new SpeechError('too-fast', `More than ${maxBufferMs} ms of audio wait to be paced; ${remedy}.`)
        },
        complete: () => {
          if (this.#supply.type === 'open') this.#supply = { type: 'ended' }
        },
      }),
      endWith(undefined),
    )
  }

  /** The chunks that are due; at the end of the supply what is left, then its error or the sign that all is over. */
  *due(nowMs: number): Generator<Uint8Array> {
    this.#clock.tick(nowMs)
    for (;;) {
      // First, since the answer may come at once, and what is due be let out meanwhile.
      this.#replenish()
      if (!this.#clock.isDue(nowMs)) return
      const chunk = this.#queue.take() ?? (this.#supply.type === 'open' ? undefined : this.#queue.takeRest())
      if (chunk === undefined) break
      this.#clock.played(nowMs, msForBytes(this.#format, chunk.byteLength))
      yield chunk
    }
    this.#end()
  }

  /** A source may answer at once; it is asked again as long as that brings more. */
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
    this.#queue.assertNothingCut()
    this.#over$.next()
  }
}
