import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path/posix'

/** Returns the content of a file, undefined if it cannot be read. */
export type ReadFile = (path: string) => string | undefined

const readFile: ReadFile = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * How many CPUs this process may use: those of its affinity and cpuset, or less if a quota of its control groups
 * permits less. A fraction, such as 0.2, is possible. Containers are limited by such quotas, which
 * `availableParallelism` of Node 20 ignores.
 */
export const usableCpus = (cores: number = availableParallelism(), read: ReadFile = readFile): number =>
  Math.min(cores, ...quotasOf(read))

/** The quotas of all control groups around this process; empty on systems without control groups. */
const quotasOf = (read: ReadFile): readonly number[] => {
  const mounts = linesOf(read('/proc/self/mountinfo')).flatMap(parseMount)
  return linesOf(read('/proc/self/cgroup')).flatMap((line) => {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    const isUnified = controllers === ''
    if (!isUnified && !controllers.split(',').includes('cpu')) return []
    const mount = mounts.find(({ type, options }) =>
      isUnified ? type === 'cgroup2' : type === 'cgroup' && options.split(',').includes('cpu'),
    )
    return mount === undefined ? [] : foldersOf(mount, path).flatMap((folder) => quotaOf(read, folder, isUnified))
  })
}

interface Mount {
  /** The control group that is mounted. */
  readonly root: string
  readonly point: string
  readonly type: string
  readonly options: string
}

/** A line such as `32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu`; see proc_pid_mountinfo(5). */
const parseMount = (line: string): readonly Mount[] => {
  const [fields = '', rest = ''] = line.split(' - ')
  const [, , , root, point] = fields.split(' ')
  const [type, , options = ''] = rest.split(' ')
  if (root === undefined || point === undefined || type === undefined) return []
  return [{ root, point, type, options }]
}

/** The folders of a group and of all groups above it that are visible here. */
const foldersOf = ({ root, point }: Mount, path: string): readonly string[] => {
  const isBelow = root === '/' || path === root || path.startsWith(`${root}/`)
  const inside = isBelow && !path.includes('/..') ? path.slice(root === '/' ? 0 : root.length) : ''
  const folders: string[] = []
  for (let folder = join(point, inside); folder.startsWith(point); folder = dirname(folder)) folders.push(folder)
  return folders
}

const quotaOf = (read: ReadFile, folder: string, isUnified: boolean): readonly number[] => {
  const [quota, period] = isUnified
    ? (read(join(folder, 'cpu.max')) ?? '').trim().split(' ')
    : [read(join(folder, 'cpu.cfs_quota_us')), read(join(folder, 'cpu.cfs_period_us'))]
  // Without a limit the quota is `max` or -1.
  const cpus = Number(quota ?? NaN) / Number(period ?? NaN)
  return cpus > 0 && Number.isFinite(cpus) ? [cpus] : []
}

const linesOf = (text = ''): readonly string[] => text.split('\n').filter((line) => line !== '')
