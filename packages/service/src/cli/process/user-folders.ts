import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Host } from './host.js'

type Environment = Host['env']

/** A folder of the XDG Base Directory Specification, whose variables count only if they are absolute. */
const xdgFolder = (env: Environment, variable: string, below: string): string | undefined => {
  const { [variable]: set = '', HOME: home = '' } = env
  if (isAbsolute(set)) return set
  return isAbsolute(home) ? join(home, below) : undefined
}

const windowsFolder = (env: Environment, variable: string): string | undefined => {
  const { [variable]: set = '' } = env
  return set === '' ? undefined : set
}

/** The file with the settings of the user, whether or not it exists; undefined without a home folder. */
export const userFile = (env: Environment, platform = process.platform): string | undefined => {
  const folder = platform === 'win32' ? windowsFolder(env, 'APPDATA') : xdgFolder(env, 'XDG_CONFIG_HOME', '.config')
  return folder && join(folder, 'rxspeech', 'config.yaml')
}

/** The folder of the models of the user, whether or not it exists; undefined without a home folder. */
export const userModels = (env: Environment, platform = process.platform): string | undefined => {
  const folder =
    platform === 'win32' ? windowsFolder(env, 'LOCALAPPDATA') : xdgFolder(env, 'XDG_DATA_HOME', '.local/share')
  return folder && join(folder, 'rxspeech', 'models')
}

/** That folder, if it exists. */
export const existingUserModels = (env: Environment): readonly string[] => {
  const folder = userModels(env)
  return folder !== undefined && existsSync(folder) ? [folder] : []
}

/** The lines that were typed in `rxspeech repl`, whether or not the file exists; undefined without a home folder. */
export const replHistory = (env: Environment, platform = process.platform): string | undefined => {
  const folder =
    platform === 'win32' ? windowsFolder(env, 'LOCALAPPDATA') : xdgFolder(env, 'XDG_STATE_HOME', '.local/state')
  return folder && join(folder, 'rxspeech', 'repl-history')
}
