import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf } from 'rxspeech/internal/errors/speech-error'

/**
 * What a folder of models has beside its models while one is added, downloaded or removed. No scan takes it for a
 * tenant.
 */
type Work = 'adding' | 'pulling' | 'removing'

const here = hostname().replace(/[^A-Za-z0-9]/g, '_')

/** Makes a hidden folder that belongs to this process. */
export const makeUnfinished = async (root: string, work: Work): Promise<string> => {
  await mkdir(root, { recursive: true })
  return mkdtemp(join(root, `.${work}-${here}-${process.pid}-`))
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** The folders of this kind whose process of this machine has ended without removing them. */
export const findAbandoned = async (root: string, work: Work): Promise<readonly string[]> => {
  const names = await readdir(root).catch(() => [])
  return names.flatMap((name) => {
    const [, kind, host, pid] = /^\.([a-z]+)-(\w+)-(\d+)-[A-Za-z0-9]{6}$/.exec(name) ?? []
    return kind === work && host === here && !isRunning(Number(pid)) ? [join(root, name)] : []
  })
}

/** Removes what processes left that were killed while they added or removed a model. */
export const removeAbandoned = async (root: string): Promise<void> => {
  for (const work of ['adding', 'removing'] as const) {
    for (const folder of await findAbandoned(root, work)) await rm(folder, { recursive: true, force: true })
  }
}
