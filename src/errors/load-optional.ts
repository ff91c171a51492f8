import { SpeechError } from './speech-error.js'

/** Loads an optional package; rejects with `missing-dependency`, which says what to install and why. */
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
