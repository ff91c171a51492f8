import { open } from 'node:fs/promises'
import type { CassetteLoss } from 'rxspeech/internal/cassette/record/line-queue'
import type { RecordedSession } from 'rxspeech/internal/cassette/record/record'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
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
    import('rxspeech/internal/cassette/record/record'),
    import('rxspeech/internal/cassette/record/sink'),
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
