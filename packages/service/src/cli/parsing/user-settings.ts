import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { listOf, section, setting, text as textKey } from '../../configuration/settings.js'
import { existingUserModels, userFile } from '../process/user-folders.js'
import type { Host } from '../process/host.js'
import { readConfigurationFile } from '../service/configuration-file.js'
import { flagName, type Flags, type SettingTraits, type TypedFlags } from './flags.js'
import { languageFlags, modelFlags, serviceFlags } from './service-flags.js'

/** A flag that a variable or the file of the user can set. */
interface UserSetting extends SettingTraits {
  /** Its key in the file, in camel case: `authUrl` for `--auth-url` and RXSPEECH_AUTH_URL. */
  readonly name: string
  readonly variable: string
  readonly flag: Flags[string]
}

const variableOf = (name: string): string =>
  `RXSPEECH_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** All of them, from the declarations of their flags. */
export const userSettings: readonly UserSetting[] = Object.entries<Flags[string]>({
  ...serviceFlags,
  ...modelFlags,
  ...languageFlags,
}).flatMap(([name, flag]) =>
  flag.setting === undefined ? [] : [{ ...flag.setting, name, variable: variableOf(name), flag }],
)

/** Where values come from. The first that has one counts. */
export interface SettingSource {
  /** How messages name a setting there, such as `RXSPEECH_MODEL`. */
  readonly nameOf: (name: string) => string
  readonly values: TypedFlags
}

/** What was typed, with the settings of the other sources. */
export interface ResolvedFlags {
  readonly values: TypedFlags
  /** How messages name a flag: after the source of its value. */
  readonly nameOf: (name: string) => string
}

const places: readonly SettingTraits['about'][] = ['service', 'models']

/**
 * Adds the settings of sources that a command has flags for. The first source that has an address or models says where
 * speech is recognized; what later ones have about that is left out, so that the client of one service is never sent to
 * another. Of one source an address is preferred to models.
 */
export const withSettings = (flags: Flags, typed: TypedFlags, sources: readonly SettingSource[]): ResolvedFlags => {
  const aboutOf = (name: string): SettingTraits['about'] | undefined =>
    userSettings.find((known) => known.name === name)?.about
  const levels: readonly SettingSource[] = [{ nameOf: flagName, values: typed }, ...sources]
  const placesOf = ({ values }: SettingSource): readonly string[] =>
    Object.keys(values).flatMap((name) => places.find((place) => place === aboutOf(name)) ?? [])
  const deciding = levels.findIndex((level) => placesOf(level).length > 0)
  const place = levels[deciding] === undefined ? undefined : placesOf(levels[deciding]).toSorted().at(-1)
  const isLeftOut = (about: SettingTraits['about'], level: number): boolean => {
    if (about === 'command' || place === undefined) return false
    if (level > deciding) return true
    return place === 'service' ? about === 'models' : about === 'connection'
  }
  const added = Object.entries(flags).flatMap(([name, { setting: traits, isRepeatable }]) => {
    if (traits === undefined || typed[name] !== undefined) return []
    const source = sources.find(({ values }, at) => values[name] !== undefined && !isLeftOut(traits.about, at + 1))
    if (source === undefined) return []
    const value = source.values[name]
    // One folder is taken of several.
    const taken = Array.isArray(value) && isRepeatable !== true ? (value as readonly string[])[0] : value
    return [[name, { source, taken }] as const]
  })
  const ofSource = new Map(added)
  return {
    values: { ...typed, ...Object.fromEntries(added.map(([name, { taken }]) => [name, taken])) },
    nameOf: (name) => ofSource.get(name)?.source.nameOf(name) ?? flagName(name),
  }
}

/** The settings of variables, and of the file of the user. Rejects with a `SilentExit` if that has faults. */
export const settingSources = async (host: Pick<Host, 'env' | 'stderr'>): Promise<readonly SettingSource[]> => [
  ofVariables(host.env),
  ...(await ofFile(host)),
]

const ofVariables = (env: Host['env']): SettingSource => ({
  nameOf: variableOf,
  values: Object.fromEntries(
    userSettings.flatMap(({ name, variable, flag: { isRepeatable }, isSecret }) => {
      const value = env[variable] ?? ''
      if (value === '' || isSecret === true) return []
      return [[name, isRepeatable === true ? value.split(pathSeparator).filter((part) => part !== '') : value]]
    }),
  ),
})

const pathSeparator = process.platform === 'win32' ? ';' : ':'

const fileKeys = section(
  Object.fromEntries(
    userSettings
      .filter(({ isSecret }) => isSecret !== true)
      .map(({ name, flag: { isRepeatable, help } }) => [
        name,
        setting<unknown>(isRepeatable === true ? listOf(textKey) : textKey, 'none', help),
      ]),
  ),
)

const ofFile = async (host: Pick<Host, 'env' | 'stderr'>): Promise<readonly SettingSource[]> => {
  const file = userFile(host.env)
  if (file === undefined || !existsSync(file)) return []
  const { readSections } = await import('../../configuration/read-configuration.js')
  const { values } = await readConfigurationFile(file, (source) => readSections(source, fileKeys.codec), host, '')
  const pathOf = (path: string): string =>
    resolve(dirname(file), path.startsWith('~/') ? join(host.env['HOME'] ?? '', path.slice(2)) : path)
  const read = userSettings.flatMap(({ name, isPath }) => {
    const value = values[name] as string | readonly string[] | undefined
    if (value === undefined) return []
    if (isPath !== true) return [[name, value] as const]
    return [[name, typeof value === 'string' ? pathOf(value) : value.map(pathOf)] as const]
  })
  return [{ nameOf: (name) => `${file}: ${name}`, values: Object.fromEntries(read) }]
}

/** The folders of models of the settings, or the default folder if it exists. */
export const userModelFolders = async (host: Pick<Host, 'env' | 'stderr'>): Promise<readonly string[]> => {
  const { values } = withSettings({ models: modelFlags.models }, {}, await settingSources(host))
  return Array.isArray(values['models']) ? (values['models'] as readonly string[]) : existingUserModels(host.env)
}
