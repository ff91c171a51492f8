import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { Socket } from 'node:net'
import { sanitizePeerText } from 'rxspeech/internal/errors/refusal'
import type { ThreadEvents } from './worker-thread.js'

const maxReportLength = 4_096

export interface ProcessEvents<Message> extends ThreadEvents<Message> {
  /**
   * The process ended, killed or not; `cause` has the end of what it wrote to standard error. The last event, emitted
   * once.
   */
  readonly ended: (cause: unknown) => void
}

/**
 * Starts a process of a file, without the options of this one. Messages of both directions are copied as between
 * threads; `settings` is the first that it gets. It ends with this process, because its channel closes then.
 */
export const startProcess = <Message>(
  file: string,
  settings: object,
  { message, ended }: ProcessEvents<Message>,
  priority?: number,
): ChildProcess => {
  const child = fork(file, [], { execArgv: [], serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  let report = ''
  let hasEnded = false
  const end = (cause: unknown): void => {
    if (hasEnded) return
    hasEnded = true
    ended(cause)
  }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (report = (report + text).slice(-maxReportLength)))
  child.on('message', (received) => message(received as Message))
  child.once('error', end)
  child.once('close', (code, signal) => {
    end(new Error(`The process ended (${signal ?? code}). ${sanitizePeerText(report)}`.trimEnd()))
  })
  try {
    // Its threads come later, and have the same.
    if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority)
  } catch (error) {
    // It must not run with another one.
    child.kill('SIGKILL')
    queueMicrotask(() => end(error))
  }
  send(child, settings)
  return child
}

/** Sends a message to a process, unless it has ended, which its end reports. */
export const send = (child: ChildProcess, message: object): void => {
  if (child.connected) child.send(message, () => undefined)
}

/** Whether the process keeps this one alive. */
export const setProcessRef = (child: ChildProcess, isReferenced: boolean): void => {
  const call = isReferenced ? 'ref' : 'unref'
  child[call]()
  child.channel?.[call]()
  ;(child.stderr as Socket | null)?.[call]()
}

/** The memory of the process that is not swapped out, on Linux; undefined elsewhere, and once it has ended. */
export const processMemoryBytes = ({ pid }: ChildProcess): number | undefined => {
  if (pid === undefined) return undefined
  try {
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return resident === undefined ? undefined : Number(resident) * 1024
  } catch {
    return undefined
  }
}

/**
 * Kills the process; resolves when it has ended. Until then it keeps this one alive, so that callers that wait for it
 * can continue.
 */
export const killProcess = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) resolve()
    else child.once('exit', () => resolve()).ref()
    child.kill('SIGKILL')
  })
