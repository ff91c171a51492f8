import { open } from 'node:fs/promises'
import type { CassetteLoss } from '../../cassette/record/line-queue.js'
import type { RecordedSession } from '../../cassette/record/record.js'
import { codeOf } from '../../errors/speech-error.js'
import { CommandError } from '../process/failure.js'

/** A cassette file to which the session of a command is recorded. */
export interface CassetteFile {
  readonly record: RecordedSession
  /** The error for missing lines, if any: the command fails with it. */
  readonly fault: () => CommandError | undefined
  /** Resolves when the file is closed. */
  readonly close: () => Promise<void>
}

/** Rejects if the file cannot be written, before a session is opened. */
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
        onLoss: (reported) => {
          loss ??= reported
        },
      },
    ),
    fault: () =>
      loss === undefined
        ? undefined
        : new CommandError(
            `${path} misses ${loss.lines} ${loss.lines === 1 ? 'line' : 'lines'} of the session (${loss.cause}); check the disk.`,
          ),
    close: async () => {
      // A failure has been reported as a loss.
      await Promise.resolve(ended).catch(() => undefined)
    },
  }
}

const unwritable = (path: string, error: unknown): CommandError => {
  const code = codeOf(error) ?? 'unknown'
  return new CommandError(`${path} cannot be written (${code}); choose another file for --record.`)
}
