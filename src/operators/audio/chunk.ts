import { catchError, concat, defer, mergeMap, throwError, type OperatorFunction } from 'rxjs'
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
 * Slices can have any length and can split a sample. A slice that is exactly one chunk is passed on as it is; every other
 * chunk is a copy, so that a small chunk does not keep a large slice in memory.
 * - Completion: emits the remaining whole samples as a shorter chunk, then completes; `cut-sample` if a sample is incomplete.
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
    defer(() => {
      const queue = new ChunkQueue(format, chunkBytes)
      const whole$ = source$.pipe(
        mergeMap((slice) => {
          queue.add(slice)
          return chunksOf(queue)
        }),
        catchError((error: unknown) =>
          concat(
            restOf(queue),
            throwError(() => error),
          ),
        ),
      )
      return concat(
        whole$,
        defer(() => endOf(queue)),
      )
    })
}

/** Reads the shared queue, so a slice that arrives while a chunk is emitted keeps its place. */
function* chunksOf(queue: ChunkQueue): Generator<Uint8Array> {
  for (let next = queue.take(); next !== undefined; next = queue.take()) yield next
}

function* restOf(queue: ChunkQueue): Generator<Uint8Array> {
  const rest = queue.takeRest()
  if (rest !== undefined) yield rest
}

function* endOf(queue: ChunkQueue): Generator<Uint8Array> {
  yield* restOf(queue)
  queue.assertComplete()
}
