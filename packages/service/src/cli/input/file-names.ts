import { stat } from 'node:fs/promises'
import { basename, extname, isAbsolute, resolve } from 'node:path'
import { usageError } from '../process/failure.js'
import { plainText } from '../view/plain-text.js'

/** Whether it is the address of a recording. */
export const isAddress = (typed: string): boolean => /^https?:\/\//i.test(typed) && URL.canParse(typed)

/** Characters that a pattern has and most names have not. */
export const isPattern = (typed: string): boolean => /[*?[{]/.test(typed) && !isAddress(typed)

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/**
 * The files that were typed, each once, in the order in which they were typed. What a shell has not expanded, such as
 * 'calls/**\/*.wav', is expanded here, sorted by name; a pattern that matches nothing remains, as in a shell.
 */
export const expandFiles = async (typed: readonly string[]): Promise<readonly string[]> => {
  const expanded = await Promise.all(
    typed.map(async (name) => (isPattern(name) && !(await exists(name)) ? filesOf(name) : [name])),
  )
  return [...new Map(expanded.flat().map((file) => [isFile(file) ? resolve(file) : file, file])).values()]
}

const filesOf = async (pattern: string): Promise<readonly string[]> => {
  const { glob } = await import('tinyglobby')
  const found = await glob(pattern, { expandDirectories: false, absolute: isAbsolute(pattern) })
  return found.length === 0 ? [pattern] : found.toSorted()
}

const isFile = (typed: string): boolean => typed !== '-' && !isAddress(typed)

/** The name of a recording without folder and extension, for files that belong to it. */
export const stemOf = (file: string): string => {
  if (file === '-') return 'stdin'
  const name = isAddress(file) ? nameOfAddress(new URL(file)) : basename(file)
  return name.slice(0, name.length - extname(name).length)
}

/** The end of its path, as far as it can be the name of a file. */
const nameOfAddress = ({ pathname, hostname }: URL): string => {
  const [last = ''] = pathname.split('/').reverse()
  const name = plainText(/%(?![0-9a-f]{2})/i.test(last) ? last : decodeURIComponent(last)).replace(/[\\/:*?"<>|]/g, '_')
  return name === '' || /^\.*$/.test(name) ? hostname : name
}

/**
 * Throws `invalid-options` if two recordings have the same name in different folders, because a file that belongs to
 * them, such as a transcript, cannot be told apart.
 */
export const requireDistinctStems = (files: readonly string[], extension: string): void => {
  const byStem = new Map<string, string>()
  for (const file of files) {
    const other = byStem.get(stemOf(file))
    if (other !== undefined) {
      throw usageError(`${other} and ${file} would both belong to ${stemOf(file)}.${extension}; pass one at a time.`)
    }
    byStem.set(stemOf(file), file)
  }
}
