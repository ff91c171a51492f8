import { describe, expect, it } from 'vitest'
import { soundswallowerLimits } from '../../src/soundswallower/soundswallower.js'
import { usableCpus } from '../../src/threads/usable-cpus.js'

type Files = Readonly<Record<string, string>>

/** On a machine where the affinity leaves 8 cores. */
const cpusOf = (files: Files): number => usableCpus(8, (path) => files[path])

/** A container of cgroup v2 sees its own group as the root. */
const container: Files = {
  '/proc/self/mountinfo': '29 22 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n',
  '/proc/self/cgroup': '0::/\n',
}

/** Both versions, as systemd mounts them. */
const host = (path: string): Files => ({
  '/proc/self/mountinfo': [
    '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
    '32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct',
    '34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset',
    '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:1 - cgroup2 cgroup2 rw',
  ].join('\n'),
  '/proc/self/cgroup': `3:cpuset:${path}\n1:cpu,cpuacct:${path}\n0::${path}\n`,
})

const v1 = (folder: string, quota: number, period = 100_000): Files => ({
  [`/sys/fs/cgroup/cpu,cpuacct${folder}/cpu.cfs_quota_us`]: `${quota}\n`,
  [`/sys/fs/cgroup/cpu,cpuacct${folder}/cpu.cfs_period_us`]: `${period}\n`,
})

describe('the CPUs that a process may use', () => {
  it('are those of its affinity without control groups, and without a quota', () => {
    expect(cpusOf({})).toBe(8)
    expect(cpusOf(container)).toBe(8)
    expect(cpusOf({ ...container, '/sys/fs/cgroup/cpu.max': 'max 100000\n' })).toBe(8)
    expect(cpusOf({ ...host('/a'), ...v1('/a', -1), ...v1('', -1) })).toBe(8)
  })

  it('are the quota of a container, a fraction too, and never more than those of the affinity', () => {
    expect(cpusOf({ ...container, '/sys/fs/cgroup/cpu.max': '20000 100000\n' })).toBe(0.2)
    expect(cpusOf({ ...container, '/sys/fs/cgroup/cpu.max': '1600000 100000\n' })).toBe(8)
  })

  it('are the smallest quota of the group and of those above it', () => {
    const v2 = (folder: string, max: string): Files => ({ [`/sys/fs/cgroup/unified${folder}/cpu.max`]: max })
    expect(cpusOf({ ...host('/a/b/c'), ...v2('/a/b/c', 'max 100000'), ...v2('/a', '150000 100000') })).toBe(1.5)
    expect(cpusOf({ ...host('/a/b'), ...v1('/a/b', 300_000), ...v1('/a', 50_000, 20_000) })).toBe(2.5)
    expect(cpusOf({ ...host('/a/b'), ...v2('/other', '10000 100000'), ...v1('/a/bc', 10_000) })).toBe(8)
  })

  it('are the quota of a container of version 1, whose group is the root of the mount', () => {
    const mounted = {
      '/proc/self/mountinfo': '9 8 0:29 /docker/4f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '25000\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    }
    for (const path of ['/docker/4f', '/../4f', '/elsewhere']) {
      expect(cpusOf({ ...mounted, '/proc/self/cgroup': `4:cpu,cpuacct:${path}\n` })).toBe(0.25)
    }
  })

  it('ignore files with other content', () => {
    const broken = { '/proc/self/mountinfo': 'x\n - cgroup2\n', '/proc/self/cgroup': 'x\n0::/a\n' }
    expect(cpusOf(broken)).toBe(8)
    for (const max of ['', '0 100000', '-5 100000', 'a b', '100 0']) {
      expect(cpusOf({ ...container, '/sys/fs/cgroup/cpu.max': max })).toBe(8)
    }
  })
})

describe('the default capacity of the embedded engine', () => {
  it('is 8 segments for a CPU and at most 8 for a thread, down to one segment', () => {
    const capacity = (cpus: number, workers?: number) => {
      const limits = soundswallowerLimits(cpus, workers)
      return [limits.workers, limits.decodersPerWorker]
    }
    expect([0.1, 0.2, 0.5, 1, 1.5, 2, 4, 16].map((cpus) => capacity(cpus))).toEqual([
      ...[
        [1, 1],
        [1, 1],
        [1, 4],
        [1, 8],
        [1, 8],
        [2, 8],
        [4, 8],
        [4, 8],
      ],
    ])
    expect(capacity(2, 8)).toEqual([8, 2])
  })
})
