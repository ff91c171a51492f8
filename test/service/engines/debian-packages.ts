import { existsSync } from 'node:fs'
import { debianModels } from '../../../src/service/engines/pocketsphinx/model.js'
import { needPackages } from '../../interop/debian-packages.js'

const { areAbsent, title } = needPackages(['libpocketsphinx3', 'pocketsphinx-en-us'], () =>
  existsSync(`${debianModels}/en-us.lm.bin`),
)

export const dictationIsSkipped = areAbsent
export const dictationTitle = title('dictation')
