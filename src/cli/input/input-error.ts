import { codeOf, SpeechError } from '../../errors/speech-error.js'

/** How messages name the input. */
export const inputName = (file: string): string => (file === '-' ? 'Standard input' : file)

const remedies: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; check the name',
  ENOTDIR: 'does not exist; check the name',
  ENAMETOOLONG: 'has a name that is too long; check it',
  EACCES: 'cannot be read; change its permissions',
  EPERM: 'cannot be read; change its permissions',
  EISDIR: 'is a folder; pass a file',
  ELOOP: 'is a broken link; pass a file',
  EBADF: 'is closed; pipe audio into it or pass a file',
}

/** The error of a failed read, with what to do about it. */
export const unreadable = (file: string, error: unknown): SpeechError => {
  const code = codeOf(error) ?? 'unknown'
  const remedy = remedies[code] ?? `cannot be read (${code}); try another copy`
  return new SpeechError('source-failed', `${inputName(file)} ${remedy}.`, { cause: error })
}

export const unusable = (file: string, remedy: string): SpeechError =>
  new SpeechError('source-failed', `${inputName(file)} ${remedy}`)
