import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { PhraseFault } from '../engine.js'
import type { Reader, Reading } from '../offline/reader.js'
import { type WorkerPool } from '../pool/worker-pool.js'

/** A reader over processes, each of which reads one request at a time. */
export interface PoolReader extends Reader {
  ready(): Promise<void>
  checkPhrases(phrases: readonly string[]): Promise<readonly PhraseFault[]>
}

/**
 * Makes a reader of a pool of processes: a request is a segment that is written at once. A request that is aborted is
 * read to its end if its process has begun, because the library cannot stop; nothing else waits for that process then.
 *
 * @param hasTimes whether readings have words
 */
export const createPoolReader = (pool: WorkerPool, sampleRateHz: number, hasTimes: boolean): PoolReader => ({
  readsAtOnce: pool.segmentsAtOnce,
  read: ({ samples, ...settings }, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(aborted())
        return
      }
      const segment = pool.open(
        0,
        {
          progress: () => undefined,
          checked: () => undefined,
          decidedPart: () => undefined,
          decided: (words, { text = '', confidence } = { text: '' }) =>
            resolve({
              text,
              ...(confidence !== undefined && { confidence }),
              ...(hasTimes && { words }),
            } satisfies Reading),
          failed: reject,
        },
        settings,
      )
      signal.addEventListener('abort', () => {
        if (!segment.isAwaited) segment.abort()
        reject(aborted())
      })
      segment.write(samples)
      segment.close(Math.round((samples.length * 1000) / sampleRateHz))
    }),
  busyMs: () => pool.busyMs,
  memoryBytes: () => pool.memoryBytes,
  close: () => pool.close(),
  ready: () => pool.warm(),
  checkPhrases: (phrases) => pool.checkPhrases(phrases),
})

const aborted = (): SpeechError =>
  new SpeechError('engine-failed', 'The reading is not needed any more.', { retryable: false })
