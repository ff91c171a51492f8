import { Observable, takeUntil, tap, type OperatorFunction } from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import { anything, checkOptions, number, optionsOf } from '../../protocol/validation.js'
import { ChunkQueue, chunkBytesOf } from './chunk-queue.js'

/** How audio is cut into chunks. */
export interface ChunkOptions {
  /** The format of the source. */
  readonly format: AudioFormat
  /** Length of a chunk in milliseconds, rounded down to whole samples. @default 20 (PROTOCOL 3.2) */
  readonly everyMs?: number | undefined
}

const chunkOptions = optionsOf<ChunkOptions>()({ format: anything }, { everyMs: number() })

/**
 * Cuts audio into chunks of equal length, however the source is sliced.
 *
 * Slices can have any length and can split a sample. A slice that is exactly one chunk is passed on as it is; every
 * other chunk is a copy, so that a small chunk does not keep a large slice in memory.
 * - Completion: emits the remaining whole samples as a shorter chunk, then completes; `cut-sample` if a sample is
 *   incomplete.
 * - Error: emits the remaining whole samples, then passes the error on.
 * - Unsubscription: discards what is buffered.
 * - Buffering: less than one chunk.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * microphone$.pipe(chunk({ format: { encoding: 'pcm', sampleRateHz: 16000, channels: 1 } }))
 * ```
 */
export const chunk = (options: ChunkOptions): OperatorFunction<Uint8Array, Uint8Array> => {
  checkOptions(chunkOptions, options)
  const { format, everyMs = 20 } = options
  const chunkBytes = chunkBytesOf(format, everyMs)
  return (source$) =>
    new Observable((subscriber) => {
      const queue = new ChunkQueue(format, chunkBytes)
      // The queue is shared, so a slice that arrives while a chunk is emitted keeps its place.
      const emitChunks = (): void => {
        for (let next = queue.take(); next !== undefined; next = queue.take()) {
          subscriber.next(next)
        }
      }
      const emitRest = (): void => {
        emitChunks()
        const rest = queue.takeRest()
        if (rest !== undefined) subscriber.next(rest)
      }
      const slice$ = source$.pipe(
        tap((slice) => queue.add(slice)),
        // Ends a source that emits within its subscription as soon as the subscriber has unsubscribed.
        takeUntil(new Observable((ended) => subscriber.add(() => ended.next(undefined)))),
      )
      return slice$.subscribe({
        next: emitChunks,
        error: (error: unknown) => {
          emitRest()
          subscriber.error(error)
        },
        complete: () => {
          emitRest()
          try {
            queue.assertComplete()
          } catch (error) {
            subscriber.error(error)
          }
          subscriber.complete()
        },
      })
    })
}
