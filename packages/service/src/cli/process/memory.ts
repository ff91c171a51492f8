import { readdirSync, readFileSync } from 'node:fs'

/** The resident memory of this process and its child processes, in bytes; undefined where the system has no figure. */
export const residentBytes = (): number | undefined => {
  try {
    const children = readdirSync('/proc/self/task').flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    )
    return ['self', ...children].reduce((sum, pid) => sum + bytesOf(pid), 0)
  } catch {
    return undefined
  }
}

/** 0 for a process that has just ended. */
const bytesOf = (pid: string): number => {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}
