import { pathToFileURL } from 'node:url'
import { isMainThread, parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { nodeDefinitionsIn } from './node-definitions.js'
import { NodeGuest } from './node-guest.js'
import type { NodeWorkerData, ToNodeWorker } from './worker-messages.js'

const start = async (port: MessagePort, { file }: NodeWorkerData): Promise<void> => {
  const definitions = nodeDefinitionsIn((await import(pathToFileURL(file).href)) as unknown)
  const guest = new NodeGuest(definitions, (message) => port.postMessage(message))
  // Messages wait in the port until somebody listens.
  port.on('message', (message: ToNodeWorker) => guest.receive(message))
}

const isOurs = (data: unknown): data is NodeWorkerData =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-custom-node'

// Only a thread that was started by us does anything; to import this file does nothing.
if (!isMainThread && parentPort !== null && isOurs(workerData)) void start(parentPort, workerData)
