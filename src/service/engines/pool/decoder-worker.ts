import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { SpeechError } from '../../../errors/speech-error.js'
import { findPackageRoot } from '../../threads/package-root.js'
import type { FromWorker, ToWorker } from './worker-messages.js'

/** A worker as the pool sees it. */
export interface DecoderWorker {
  readonly post: (message: ToWorker) => void
  /** While it is busy it keeps the process alive; an idle one does not. */
  readonly setBusy: (busy: boolean) => void
  readonly terminate: () => Promise<void>
}

export interface DecoderWorkerEvents {
  readonly message: (message: FromWorker) => void
  /** It ended, asked for or not; exactly once, and last. */
  readonly ended: (cause: unknown) => void
}

export type StartDecoderWorker = (events: DecoderWorkerEvents) => DecoderWorker

/** The built file of an engine's worker, by its place here: a thread can't be started from TypeScript. */
export const workerFile = (name: string): string => {
  const file = join(findPackageRoot(__dirname), 'dist/cjs/service/engines', name)
  if (!existsSync(file)) {
    throw new SpeechError('missing-dependency', "The recognition engine's worker is not built; run npm run build.")
  }
  return file
}

/** Makes a starter of worker threads of a file that know by the settings what they are for. */
export const decoderWorkerStarter =
  (settings: object, file: string): StartDecoderWorker =>
  ({ message, ended }) => {
    // The options of this process (a loader, an inspector) are none of the worker's business
    const worker = new Worker(file, { workerData: settings, execArgv: [], name: 'rxspeech-decoder' })
    let cause: unknown
    worker.on('message', message)
    worker.on('error', (error) => (cause = error))
    worker.on('exit', () => ended(cause))
    return {
      post: (one) => worker.postMessage(one),
      setBusy: (busy) => (busy ? worker.ref() : worker.unref()),
      terminate: async () => {
        await worker.terminate()
      },
    }
  }
