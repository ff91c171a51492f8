import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import type { ToWorker } from './worker-messages.js'

/** Takes what was sent and not received yet, without a turn of the event loop; `undefined` when that is all. */
export const takeNextOf = (port: MessagePort) => (): ToWorker | undefined =>
  (receiveMessageOnPort(port) as { readonly message: ToWorker } | undefined)?.message
