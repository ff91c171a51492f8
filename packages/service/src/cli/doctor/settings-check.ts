import { existsSync } from 'node:fs'
import { flagName } from '../parsing/flags.js'
import { settingSources, userSettings, withSettings, type SettingSource } from '../parsing/user-settings.js'
import type { Host } from '../process/host.js'
import { userFile, userModels } from '../process/user-folders.js'
import { ok, type Check, type Finding } from './check.js'

/** The file and the folder of the user, and every setting without a flag, with its source; no secret is shown. */
export const settingsCheck = async (host: Pick<Host, 'env' | 'stderr'>): Promise<Check> => {
  const { env } = host
  const sources = await settingSources(host)
  const paths = [...pathFinding('file', userFile(env)), ...pathFinding('models', userModels(env))]
  const findings = [...paths, ...settingsOf(sources), ...secretsOf(env)]
  return { name: 'settings', run: () => Promise.resolve(findings) }
}

const pathFinding = (what: string, path: string | undefined): readonly Finding[] =>
  path === undefined ? [] : [ok(`${what} ${path}${existsSync(path) ? '' : ', which does not exist'}`)]

const settingsOf = (sources: readonly SettingSource[]): readonly Finding[] => {
  const flags = Object.fromEntries(userSettings.map(({ name, flag }) => [name, flag]))
  const { values, nameOf } = withSettings(flags, {}, sources)
  return userSettings.flatMap(({ name }) =>
    sources
      .filter((source) => source.values[name] !== undefined)
      .map((source) => {
        const isUsed = values[name] !== undefined && nameOf(name) === source.nameOf(name)
        const value = [source.values[name]].flat().join(', ')
        return ok(`${flagName(name)} ${value}, from ${source.nameOf(name)}${isUsed ? '' : '; another one is used'}`)
      }),
  )
}

const secretsOf = (env: Host['env']): readonly Finding[] =>
  userSettings
    .filter(({ variable, isSecret }) => isSecret === true && (env[variable] ?? '') !== '')
    .map(({ name, variable }) => ok(`${flagName(name)} is set, from ${variable}`))
