import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'

/** How many bytes a folder can take; undefined where that is not known. */
export type FreeBytes = (folder: string) => Promise<number | undefined>

const fileSystem: FreeBytes = async (folder) => {
  const found = await statfs(folder).catch(() => undefined)
  return found === undefined ? undefined : found.bavail * found.bsize
}

/** A readable size, in units of 1000. */
export const sizeText = (bytes: number): string =>
  bytes < 1e6
    ? `${Math.ceil(bytes / 1e3)} kB`
    : bytes < 999.5e6
      ? `${Math.round(bytes / 1e6)} MB`
      : `${(bytes / 1e9).toFixed(1)} GB`

/** Rejects with `invalid-options` if the disk of a file has less than these bytes left. */
export const checkSpace = async (
  file: string,
  neededBytes: number,
  freeBytes: FreeBytes = fileSystem,
): Promise<void> => {
  const folder = dirname(file)
  const free = await freeBytes(folder)
  if (free === undefined || free >= neededBytes) return
  const space = `needs ${sizeText(neededBytes)} more, and its disk has ${sizeText(free)} left`
  throw new SpeechError('invalid-options', `${folder} ${space}; free some space, or set --models to another disk.`)
}
