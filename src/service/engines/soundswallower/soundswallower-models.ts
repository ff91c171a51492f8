import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { SpeechError } from '../../../errors/speech-error.js'

/**
 * Where the package soundswallower keeps its acoustic models, with the trailing slash that it wants. Nothing is loaded.
 * Throws `missing-dependency`.
 */
export const findSoundswallowerModels = (): string => {
  try {
    return join(dirname(createRequire(__filename).resolve('soundswallower')), 'model') + sep
  } catch (cause) {
    throw new SpeechError('missing-dependency', 'This engine needs a package: npm install soundswallower.', { cause })
  }
}
