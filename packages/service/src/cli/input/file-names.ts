import { stat } from 'node:fs/promises'
import { basename, extname, isAbsolute, resolve } from 'node:path'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { usageError } from '../process/failure.js'
import { plainText } from '../view/plain-text.js'
import { inputName, isAddress } from './input-name.js'
import { type InputFile, recordingsIn } from './recordings-in-folder.js'

/** Characters that a pattern has and most names have not. */
export const isPattern = (typed: string): boolean => /[*?[{]/.test(typed) && !isAddress(typed)

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/**
 * The files that were typed, each once, in the order in which they were typed. A folder stands for all recordings in it.
 * What a shell has not expanded, such as 'calls/**\/*.wav', is expanded here, sorted by name; a pattern that matches
 * nothing remains, as in a shell. Rejects with `source-failed` for a folder without recordings.
 */
export const expandFiles = async (typed: readonly string[]): Promise<readonly InputFile[]> => {
  const expanded: InputFile[] = []
  for (const name of typed) {
    if (isPattern(name) && !(await exists(name))) expanded.push(...(await filesOf(name)).map(inputFile))
    else if (isFile(name) && (await isFolder(name))) expanded.push(...(await requireRecordings(name)))
    else expanded.push(inputFile(name))
  }
  return [...new Map(expanded.map((each) => [isFile(each.file) ? resolve(each.file) : each.file, each])).values()]
}

const inputFile = (file: string): InputFile => ({ file, stem: stemOf(file) })

const filesOf = async (pattern: string): Promise<readonly string[]> => {
  const { glob } = await import('tinyglobby')
  const found = await glob(pattern, { expandDirectories: false, absolute: isAbsolute(pattern) })
  return found.length === 0 ? [pattern] : found.toSorted()
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

const requireRecordings = async (folder: string): Promise<readonly InputFile[]> => {
  const found: InputFile[] = []
  const refuse = (error: SpeechError): never => {
    throw error
  }
  for await (const each of recordingsIn(folder, () => undefined, refuse)) found.push(each)
  if (found.length > 0) return found
  const sentence = `${plainText(folder)} has no recordings, such as .wav or .mp3; pass another folder, or files.`
  throw new SpeechError('source-failed', sentence)
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
  const name = plainText(decoded(last)).replace(/[\\/:*?"<>|]/g, '_')
  return name === '' || /^\.*$/.test(name) ? hostname : name
}

/** The escaped characters, unless they are no UTF-8. */
const decoded = (escaped: string): string => {
  try {
    return decodeURIComponent(escaped)
  } catch {
    return escaped
  }
}

/**
 * Throws `invalid-options` if two recordings have the same name in different folders, because a file that belongs to
 * them, such as a transcript, cannot be told apart.
 */
export const requireDistinctStems = (files: readonly InputFile[], extension: string): void => {
  const byStem = new Map<string, string>()
  for (const { file, stem } of files) {
    const other = byStem.get(stem)
    if (other !== undefined) {
      const names = `${inputName(other)} and ${inputName(file)}`
      throw usageError(`${names} would both belong to ${plainText(stem)}.${extension}; pass one at a time.`)
    }
    byStem.set(stem, file)
  }
}
