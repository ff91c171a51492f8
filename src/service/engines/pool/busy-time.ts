import { performance } from 'node:perf_hooks'
import type { FromWorker } from './worker-messages.js'

/** How long this thread's event loop did not wait, in milliseconds. Each thread has its own. */
const activeMs = (): number => performance.eventLoopUtilization().active

/**
 * Says of every message after `ready` how long the thread has worked since the one before it: loading a model is not
 * counted, and what was read for an aborted segment is told with the next message. One look at a counter a message.
 */
export const sayBusyTime = (
  say: (message: FromWorker) => void,
  workedMs: () => number = activeMs,
): ((message: FromWorker) => void) => {
  let toldMs: number | undefined
  return (message) => {
    const nowMs = workedMs()
    say(toldMs === undefined ? message : { ...message, busyMs: nowMs - toldMs })
    if (toldMs !== undefined || message.type === 'ready') toldMs = nowMs
  }
}
