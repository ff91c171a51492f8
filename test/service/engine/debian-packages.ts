import { existsSync } from 'node:fs'
import { debianModels } from '../../../src/service/engine/pocketsphinx/sphinx-model.js'

const isHere = existsSync(`${debianModels}/en-us.lm.bin`)

/** Where the packages are absent dictation can't be tested; in CI, which installs them, that is a failure. */
export const dictationIsSkipped = !isHere && process.env['CI'] !== 'true'
export const dictationTitle = dictationIsSkipped
  ? 'dictation (skipped: apt-get install libpocketsphinx3 pocketsphinx-en-us)'
  : 'dictation'
