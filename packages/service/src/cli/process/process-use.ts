import { readdirSync, readFileSync } from 'node:fs'

/** What a process and all processes below it have used and use. */
export interface ProcessUse {
  readonly cpuMs: number
  /** Resident memory. */
  readonly memoryBytes: number
}

/** The ticks of /proc: 100 a second on every common system; see proc_pid_stat(5). */
const tickMs = 10

/** Undefined where the system has no figures. */
export const processUse = (pid: number | 'self'): ProcessUse | undefined => {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
    return children
      .map((child) => processUse(child) ?? none)
      .reduce((sum, { cpuMs, memoryBytes }) => {
        return { cpuMs: sum.cpuMs + cpuMs, memoryBytes: sum.memoryBytes + memoryBytes }
      }, ownUse(pid))
  } catch {
    return undefined
  }
}

/** Of a process that has just ended. */
const none: ProcessUse = { cpuMs: 0, memoryBytes: 0 }

const ownUse = (pid: number | 'self'): ProcessUse => {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name of the program, in parentheses, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs, memoryBytes: Number(kilobytes ?? 0) * 1024 }
}
