import { killProcess, processMemoryBytes, send, setProcessRef, startProcess } from '../threads/child-process.js'
import { findWorkerFile } from '../threads/package-files.js'
import { startThread } from '../threads/worker-thread.js'
import type { Engine, EngineCapabilities, ModelDescription } from '../engine.js'
import { invalidModel } from '../models/model-json.js'
import { createSegmentEngine } from '../segment-engine.js'
import type { FromWorker } from './worker-messages.js'
import { WorkerPool, type StartPoolWorker, type WorkerPoolOptions } from './worker-pool.js'

/** @param path from the folder of engines on, such as "soundswallower/worker.js" */
export const engineWorkerFile = (path: string): string =>
  findWorkerFile(__dirname, path, "The recognition engine's worker")

/** Returns a function that starts threads of a file. The file recognizes `workerData` as its own. */
export const createWorkerStarter =
  (workerData: object, file: string): StartPoolWorker =>
  (events) => {
    const worker = startThread<FromWorker>(file, { workerData, name: 'rxspeech-decoder' }, events)
    return {
      post: (message) => worker.postMessage(message),
      setBusy: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
      terminate: async () => {
        await worker.terminate()
      },
    }
  }

/**
 * Returns a function that starts processes of a file, which outlive a crash of a native library. One that ends before
 * it is ready refuses the model.
 *
 * @param refusal the sentence of that refusal
 * @param priority of `os.setPriority`; default: that of this process
 */
export const createProcessStarter =
  (settings: object, file: string, refusal: string, priority?: number): StartPoolWorker =>
  ({ message, ended }) => {
    let isLoading = true
    const events = {
      message: (received: FromWorker) => {
        isLoading = false
        message(received)
      },
      ended: (cause: unknown) => {
        if (isLoading) message({ type: 'refused', sentence: refusal })
        ended(cause)
      },
    }
    const child = startProcess<FromWorker>(file, settings, events, priority)
    return {
      post: (sent) => send(child, sent),
      setBusy: (isBusy) => setProcessRef(child, isBusy),
      terminate: () => killProcess(child),
      memoryBytes: () => processMemoryBytes(child),
    }
  }

/**
 * Opens an engine whose segments are decoded in worker threads or processes. Resolves when the first worker has loaded
 * the model; rejects as `warm` of the pool does, and leaves no worker running then.
 */
export const openWorkerEngine = async (
  model: ModelDescription,
  options: Omit<WorkerPoolOptions, 'now' | 'refusalError'>,
  capabilities: Omit<EngineCapabilities, 'segmentsAtOnce'>,
): Promise<Engine> => {
  const pool = await openWorkerPool(model, options)
  return createSegmentEngine({
    capabilities: { ...capabilities, segmentsAtOnce: pool.segmentsAtOnce },
    openChannel: (settings) => (startMs, listener) => pool.open(startMs, listener, settings),
    ready: () => pool.warm(),
    checkPhrases: (phrases) => pool.checkPhrases(phrases),
    busyMs: () => pool.busyMs,
    memoryBytes: () => pool.memoryBytes,
    close: () => pool.close(),
  })
}

/** Opens the pool alone, in the same way. */
export const openWorkerPool = async (
  model: ModelDescription,
  options: Omit<WorkerPoolOptions, 'now' | 'refusalError'>,
): Promise<WorkerPool> => {
  const pool = new WorkerPool({
    ...options,
    now: () => performance.now(),
    refusalError: (sentence, cause) => invalidModel(model, sentence, cause),
  })
  try {
    await pool.warm()
  } catch (error) {
    await pool.close()
    throw error
  }
  return pool
}
