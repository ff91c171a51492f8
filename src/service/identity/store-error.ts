import { isSpeechError, SpeechError } from '../../errors/speech-error.js'

export const storeFileName = 'identity.db'

const sqliteCode = (error: unknown): string => {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** A file that holds something else than it should; nobody but a person may replace it, for it decides who is let in. */
export const damaged = (cause?: unknown, fileName = storeFileName): SpeechError =>
  new SpeechError('invalid-options', `${fileName} in the state folder is damaged; restore it from a copy.`, {
    cause,
  })

/** Nothing is half written then: what was there before is there still. */
export const diskFull = (fileName: string, cause: unknown): SpeechError =>
  new SpeechError(
    'overloaded',
    `The disk of the state folder is full, so ${fileName} was not changed; free some space and try again.`,
    { cause },
  )

/** What SQLite says, in words that name the file; errors of our own stay as they are. */
export const storeError = (error: unknown, fileName = storeFileName): SpeechError => {
  if (isSpeechError(error)) return error
  const code = sqliteCode(error)
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) return damaged(error, fileName)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
    return new SpeechError('overloaded', `Another process has been writing to ${fileName} for too long; try again.`, {
      cause: error,
    })
  }
  const why = code === '' ? '' : ` (${code})`
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return diskFull(fileName, error)
  const sentence = `${fileName} in the state folder cannot be used${why}; check its owner, its rights and the disk.`
  return new SpeechError('invalid-options', sentence, { cause: error })
}
