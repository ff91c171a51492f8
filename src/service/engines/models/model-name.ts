import { SpeechError } from '../../../errors/speech-error.js'

const pattern = /^(?!\.)[A-Za-z0-9._-]{1,64}$/

/**
 * A tenant, a name or a version that may become a folder: 1 to 64 letters of ASCII, digits, `.`, `_` and `-`, and no dot
 * at its beginning, so that it can lead nowhere else. Throws `invalid-options` that says which it is.
 */
export const checkModelName = (what: 'tenant' | 'name' | 'version', text: string): string => {
  if (pattern.test(text)) return text
  const rule = 'must be 1 to 64 letters of A to Z, digits, ".", "_" and "-", and not begin with a dot'
  throw new SpeechError('invalid-options', `The ${what} of a model ${rule}.`)
}
