import { open } from 'node:fs/promises'
import { codeOf } from '../../errors/code-of.js'
import type { CassetteLoss } from '../../cassette/record/line-queue.js'
import type { RecordedSession } from '../../cassette/record/record.js'
import { RunFailure } from '../process/failure.js'

/** A cassette that is being written for a command. */
export interface CassetteFile {
  readonly record: RecordedSession
  /** What is missing in it, if anything: the end of a command that was asked for it. */
  readonly fault: () => RunFailure | undefined
  /** Resolves when the file is closed. */
  readonly close: () => Promise<void>
}

/** Rejects at once where the file cannot be written, before a session is opened for nothing. */
export const openCassetteFile = async (path: string): Promise<CassetteFile> => {
  const [{ record }, { toFile }] = await Promise.all([
    import('../../cassette/record/record.js'),
    import('../../cassette/record/sink.js'),
  ])
  await (await open(path, 'w', 0o600).catch((error: unknown) => Promise.reject(unwritable(path, error)))).close()
  const file = toFile(path)
  let loss: CassetteLoss | undefined
  let ended: void | PromiseLike<void>
  return {
    record: record(
      {
        open: () => {
          const { write, end } = file.open()
          return { write, end: () => (ended = end?.()) }
        },
      },
      {
        onLoss: (told) => {
          loss ??= told
        },
      },
    ),
    fault: () =>
      loss === undefined
        ? undefined
        : new RunFailure(`${path} misses ${loss.lines} lines of the session (${loss.cause}); check the disk.`),
    close: async () => {
      // Told as a loss.
      await Promise.resolve(ended).catch(() => undefined)
    },
  }
}

const unwritable = (path: string, error: unknown): RunFailure => {
  const code = codeOf(error) ?? 'unknown'
  return new RunFailure(`${path} cannot be written (${code}); give --record another place.`)
}
