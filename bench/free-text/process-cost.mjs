// What a process and its children have used, from /proc.
import { readdirSync, readFileSync } from 'node:fs'

const ticksPerSecond = 100

const childrenOf = (pid) => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

const costOf = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [, rssKb = 0] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return { cpuS: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond, rssMb: Number(rssKb) / 1024 }
  } catch {
    return { cpuS: 0, rssMb: 0 }
  }
}

const sum = (costs) => ({
  cpuS: costs.reduce((total, { cpuS }) => total + cpuS, 0),
  rssMb: costs.reduce((total, { rssMb }) => total + rssMb, 0),
})

const descendants = (pid) => childrenOf(pid).flatMap((child) => [child, ...descendants(child)])

/** CPU time and memory of the process itself, and of all processes below it, such as those of an engine. */
export const processCost = (pid) => ({ own: costOf(pid), below: sum(descendants(pid).map(costOf)) })
