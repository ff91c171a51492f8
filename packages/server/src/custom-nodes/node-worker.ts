import { findWorkerFile } from 'rxspeech-engines/threads/package-files'
import { startThread, type ThreadEvents } from 'rxspeech-engines/threads/worker-thread'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ResolvedCustomNodeOptions } from './custom-node-source.js'
import type { FromNodeWorker, NodeWorkerData, ToNodeWorker } from './worker-messages.js'

/** A thread that runs one node. */
export interface NodeWorker {
  readonly post: (message: ToNodeWorker) => void
  readonly terminate: () => void
}

export type NodeWorkerEvents = ThreadEvents<FromNodeWorker>

/** Starts a thread. Throws `overloaded` when `maxWorkers` run already. */
export type StartNodeWorker = (events: NodeWorkerEvents) => NodeWorker

/** Starts threads for the nodes of one module, at most `maxWorkers` at a time. */
export const createNodeWorkerStarter = (
  file: string,
  { memoryMb, maxWorkers }: Pick<ResolvedCustomNodeOptions, 'memoryMb' | 'maxWorkers'>,
): StartNodeWorker => {
  const program = findWorkerFile(__dirname, 'custom-nodes/custom-node-worker.js', 'The worker of custom nodes')
  const workerData: NodeWorkerData = { type: 'rxspeech-custom-node', file }
  let running = 0
  return ({ message, ended }) => {
    if (running >= maxWorkers) {
      throw new SpeechError('overloaded', 'The service runs its maximum number of custom nodes; try again later.')
    }
    const worker = startThread<FromNodeWorker>(
      program,
      {
        workerData,
        // The service's own stdout is for its ready line and its log.
        stdout: true,
        resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
        name: 'rxspeech-custom-node',
      },
      {
        message,
        ended: (cause) => {
          running -= 1
          ended(cause)
        },
      },
    )
    running += 1
    worker.stdout.resume()
    return {
      post: (toWorker) => worker.postMessage(toWorker),
      terminate: () => void worker.terminate(),
    }
  }
}
