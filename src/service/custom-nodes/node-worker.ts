import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { SpeechError } from '../../errors/speech-error.js'
import { findPackageRoot } from '../engine/package-root.js'
import type { ResolvedHostOptions } from './custom-node-source.js'
import type { FromNodeWorker, NodeWorkerData, ToNodeWorker } from './worker-messages.js'

/** A thread with one node in it. */
export interface NodeWorker {
  readonly post: (message: ToNodeWorker) => void
  readonly terminate: () => void
}

export interface NodeWorkerEvents {
  readonly message: (message: FromNodeWorker) => void
  /** It ended, asked for or not; exactly once, and last. */
  readonly ended: (cause: unknown) => void
}

/** Starts a thread; throws `overloaded` when there are as many as there may be. */
export type StartNodeWorker = (events: NodeWorkerEvents) => NodeWorker

/** The built file: a thread cannot be started from TypeScript. */
const workerFile = (): string => {
  const file = join(findPackageRoot(__dirname), 'dist/cjs/service/custom-nodes/custom-node-worker.js')
  if (!existsSync(file)) {
    throw new SpeechError('missing-dependency', 'The worker of custom nodes is not built; run npm run build.')
  }
  return file
}

/** Makes threads for the nodes of one module, at most `maxWorkers` at a time. */
export const nodeWorkerStarter = (
  file: string,
  { memoryMb, maxWorkers }: Pick<ResolvedHostOptions, 'memoryMb' | 'maxWorkers'>,
): StartNodeWorker => {
  const program = workerFile()
  const workerData: NodeWorkerData = { type: 'rxspeech-custom-node', file }
  let running = 0
  return ({ message, ended }) => {
    if (running >= maxWorkers) {
      throw new SpeechError('overloaded', 'The service runs as many custom nodes as it may; try again later.')
    }
    const worker = new Worker(program, {
      workerData,
      execArgv: [],
      // What a node prints must not get between the service's own words on stdout.
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
      post: (one) => worker.postMessage(one),
      terminate: () => void worker.terminate(),
    }
  }
}
