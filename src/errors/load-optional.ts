import { SpeechError } from './speech-error.js'

/** Loads a package that may not be installed; rejects with `missing-dependency`, which says what to install for what. */
export const loadOptional = async <Module>(
  name: string,
  what: string,
  load: () => Promise<Module>,
): Promise<Module> => {
  try {
    return await load()
  } catch (cause) {
    throw new SpeechError('missing-dependency', `${what} needs a package: npm install ${name}.`, { cause })
  }
}
