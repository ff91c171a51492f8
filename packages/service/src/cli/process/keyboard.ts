import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Host } from './host.js'

/** The keys of a terminal, which does not show them. */
export interface Keyboard {
  /** The terminal is as before. Idempotent. */
  readonly close: () => void
}

export interface KeyboardOptions {
  /** What was typed: one key, the sequence of a special one, or several at once. Ctrl-C and Ctrl-Z are not passed. */
  readonly key?: (typed: string) => void
  /** Called before Ctrl-Z stops the process, and when it continues. */
  readonly suspending?: () => void
  readonly resumed?: () => void
}

const interrupt = '\u0003'
const suspend = '\u001a'

/**
 * Reads the keys of the terminal of standard input, so that they do not appear among the lines of a live view. Ctrl-C
 * and Ctrl-Z still do what they do. Undefined without a terminal, and for a job in the background, which a change of
 * the terminal would stop. Node restores the terminal at the end of the process, also after a crash.
 */
export const openKeyboard = (host: Host, options: KeyboardOptions = {}): Keyboard | undefined => {
  const stdin = terminalOf(host)
  if (stdin === undefined || host.env['TERM'] === 'dumb' || !isInForeground()) return undefined
  const { key, suspending, resumed } = options
  const read = (bytes: Buffer): void => {
    const typed = bytes.toString()
    const interrupts = typed.split(interrupt).length - 1
    if (interrupts > 0) for (let n = 0; n < interrupts; n++) host.raise('SIGINT')
    else if (typed.includes(suspend)) {
      suspending?.()
      stdin.setRawMode(false)
      host.suspend()
      if (isInForeground()) stdin.setRawMode(true)
      resumed?.()
    } else key?.(typed)
  }
  let isOpen = true
  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    offExit()
    stdin.off('data', read)
    stdin.setRawMode(false)
    stdin.pause()
  }
  const offExit = host.onExit(close)
  stdin.setRawMode(true)
  stdin.on('data', read)
  // It does not keep the process.
  stdin.unref()
  return { close }
}

/** Standard input, if it is a terminal. Node throws for one that is closed. */
const terminalOf = (host: Host): NodeJS.ReadStream | undefined => {
  try {
    return host.stdin.isTTY ? host.stdin : undefined
  } catch {
    return undefined
  }
}

/** Whether the process belongs to the job that the terminal listens to. */
const isInForeground = (): boolean => {
  if (process.platform === 'win32') return true
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(process.pid)], { encoding: 'utf8', timeout: 1000 })
    return stdout === null || stdout.includes('+')
  }
  try {
    // proc(5): behind the name in brackets, state, parent, group, session, terminal, and the group in the foreground.
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[2] === fields[5]
  } catch {
    return true
  }
}
