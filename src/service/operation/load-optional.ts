import { SpeechError } from '../../errors/speech-error.js'

/** Loads a package that may be absent; rejects with `missing-dependency` that says what to install. */
export const loadOptional = async <Module>(
  name: string,
  what: string,
  load: () => Promise<Module>,
): Promise<Module> => {
  try {
    return await load()
  } catch (cause) {
    throw new SpeechError('missing-dependency', `${what} need a package that is absent: npm install ${name}.`, {
      cause,
    })
  }
}
