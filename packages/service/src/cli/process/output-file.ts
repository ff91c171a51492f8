import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { CommandError } from './failure.js'

/** A file that appears under its name when it is complete. */
export interface OutputFile {
  readonly write: (text: string) => void
  /**
   * Ends it; an incomplete one keeps the name that ends in `.partial`, and is removed if it is empty or not kept.
   * Idempotent.
   */
  readonly end: (isComplete: boolean, keepsIncomplete?: boolean) => void
  /** The first failure. */
  readonly fault: () => CommandError | undefined
}

/**
 * Opens the file as `PATH.partial`, which only its owner can read. Writes are synchronous: they are small, and no text
 * waits in memory when the process is killed. A failure is kept, and nothing more is written; so is that another
 * command writes the same file. A pipe or a device is written itself, because a file would take its place. Throws a
 * `CommandError` if it cannot be opened.
 */
export const openOutputFile = (path: string): OutputFile => {
  const partial = `${path}.partial`
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true
  const unwritable = (error: unknown): CommandError =>
    new CommandError(`${path} cannot be written (${codeOf(error) ?? 'unknown'}); check its folder and the disk.`)
  let fault: CommandError | undefined
  const attempt = <A>(work: () => A): A | undefined => {
    try {
      return work()
    } catch (error) {
      fault ??= unwritable(error)
      return undefined
    }
  }
  const descriptor = attempt(() => {
    mkdirSync(dirname(path), { recursive: true })
    if (!isFile) return openSync(path, 'w')
    // The other writer of the file, if it runs, keeps what it has opened.
    rmSync(partial, { force: true })
    return openSync(partial, 'wx', 0o600)
  })
  if (descriptor === undefined) throw fault ?? unwritable(undefined)
  let isOpen = true
  return {
    write: (text) => {
      if (isOpen && fault === undefined) attempt(() => writeFileSync(descriptor, text))
    },
    end: (isComplete, keepsIncomplete = true) => {
      if (!isOpen) return
      isOpen = false
      const written = attempt(() => fstatSync(descriptor))
      attempt(() => closeSync(descriptor))
      if (!isFile) return
      const found = attempt(() => statSync(partial, { throwIfNoEntry: false }))
      if (found?.ino !== written?.ino) {
        fault ??= new CommandError(`${path} is written by another command at the same time; run one of them.`)
        return
      }
      if (isComplete && fault === undefined) attempt(() => renameSync(partial, path))
      else if (written?.size === 0 || !keepsIncomplete) attempt(() => unlinkSync(partial))
    },
    fault: () => fault,
  }
}
