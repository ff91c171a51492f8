import { catchError, concat, defer, mergeMap, throwError, type OperatorFunction } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import { ChunkQueue, chunkBytesOf } from './chunk-queue.js'

export interface ChunkOptions {
  readonly format: AudioFormat
  /** Length of a chunk in milliseconds, rounded down to whole samples; default 20 (service.md 4.1 rule 5). */
  readonly everyMs?: number
}

/**
 * Cuts audio into chunks of equal length, to the sample, however the source is sliced.
 *
 * Takes slices of any length, also such as cut a sample; gives chunks of `everyMs`. A slice that is exactly one chunk
 * is handed on as it is, every other chunk is a copy of its own, so that no big slice stays in memory for a small chunk.
 * - Completion: a shorter last chunk of whole samples, then complete. Where a sample was cut, error `cut-sample` instead.
 * - Error of the source: the whole samples that came before it as a shorter last chunk, then the error as it is.
 * - Unsubscribe: what is carried is gone.
 * - Buffered: less than one chunk.
 *
 * Throws `invalid-format` or `invalid-options` when it is called.
 */
export const chunk = ({ format, everyMs = 20 }: ChunkOptions): OperatorFunction<Uint8Array, Uint8Array> => {
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

/** Taken from a shared queue, so a slice that comes while a chunk is being handed on still goes out in order. */
function* chunksOf(queue: ChunkQueue): Generator<Uint8Array> {
  for (let next = queue.take(); next !== undefined; next = queue.take()) yield next
}

function* restOf(queue: ChunkQueue): Generator<Uint8Array> {
  const rest = queue.takeRest()
  if (rest !== undefined) yield rest
}

function* endOf(queue: ChunkQueue): Generator<Uint8Array> {
  yield* restOf(queue)
  queue.assertNothingCut()
}
