import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { SpeechError } from '../../errors/speech-error.js'
import { findPackageRoot } from '../threads/package-root.js'
import type { ResolvedCustomNodeOptions } from './custom-node-source.js'
import type { FromNodeWorker, NodeWorkerData, ToNodeWorker } from './worker-messages.js'

/** A thread that runs one node. */
export interface NodeWorker {
  readonly post: (message: ToNodeWorker) => void
  readonly terminate: () => void
}

export interface NodeWorkerEvents {
  readonly message: (message: FromNodeWorker) => void
  /** The thread ended, terminated or not. The last event. */
  readonly ended: (cause: unknown) => void
}

/** Starts a thread. Throws `overloaded` when `maxWorkers` run already. */
export type StartNodeWorker = (events: NodeWorkerEvents) => NodeWorker

/** The compiled file: a thread cannot be started from TypeScript. */
const workerFile = (): string => {
  const file = join(findPackageRoot(__dirname), 'dist/cjs/service/custom-nodes/custom-node-worker.js')
  if (!existsSync(file)) {
    throw new SpeechError('missing-dependency', 'The worker of custom nodes is not built; run npm run build.')
  }
  return file
}

/** Starts threads for the nodes of one module, at most `maxWorkers` at a time. */
export const createNodeWorkerStarter = (
  file: string,
  { memoryMb, maxWorkers }: Pick<ResolvedCustomNodeOptions, 'memoryMb' | 'maxWorkers'>,
): StartNodeWorker => {
  const program = workerFile()
  const workerData: NodeWorkerData = { type: 'rxspeech-custom-node', file }
  let running = 0
  return ({ message, ended }) => {
    if (running >= maxWorkers) {
      throw new SpeechError('overloaded', 'The service runs its maximum number of custom nodes; try again later.')
    }
    const worker = new Worker(program, {
      workerData,
      execArgv: [],
      // The service's own stdout is for its ready line and its log.
      stdout: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
      name: 'rxspeech-custom-node',
    })
    running += 1
    worker.stdout.resume()
    let cause: unknown
    worker.on('message', message)
    worker.on('error', (error) => (cause = error))
    worker.on('exit', () => {
      running -= 1
      ended(cause)
    })
    return {
      post: (toWorker) => worker.postMessage(toWorker),
      terminate: () => void worker.terminate(),
    }
  }
}
