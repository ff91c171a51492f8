import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { usageError } from '../process/failure.js'
import { flagOr } from './flags.js'
import { text } from './values.js'

/** The folder in which a service keeps its keys and its subscriptions. */
export const stateFlag = flagOr('<dir>', 'the state folder of the service', text, '.rxspeech')

/** The absolute path of a state folder with the file. Throws `invalid-options`, which says what is missing. */
export const stateFolderWith = (file: string, contents: string, state: string): string => {
  const folder = resolve(state)
  if (existsSync(join(folder, file))) return folder
  if (!existsSync(folder))
    throw usageError(`${folder} does not exist; set the state folder of the service with --state.`)
  throw usageError(`There are no ${contents} in ${folder}; set the state folder of the service with --state.`)
}
