import { createHash } from 'node:crypto'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ModelDescription } from '../engine.js'
import {
  compareVersions,
  type ModelName,
  type ModelRegistry,
  type PreparedModels,
  type Release,
} from './model-registry.js'

/** By `<tenant>/<name>`. */
export type Releases = Readonly<Record<string, Release>>

type Found = Pick<ModelRegistry, 'find' | 'list'>

export interface ReleasesOptions {
  /** Reads them, at the start and for each reload. Rejects with `invalid-options`. */
  readonly read: () => Promise<Releases>
  /** Whether all models are those of the registry now: others may come later. @default false */
  readonly isComplete?: boolean | undefined
}

/** The same models, of which sessions without a version get those of the releases. Rejects with `invalid-options`. */
export const withReleases = async (models: ModelRegistry, options: ReleasesOptions): Promise<ModelRegistry> => {
  const { read, isComplete = false } = options
  let releases = await read()
  const missingIn = ({ list }: Found, of: Releases): readonly SpeechError[] => (isComplete ? missing(list(), of) : [])
  const [problem] = missingIn(models, releases)
  if (problem !== undefined) throw problem
  const prepareReload = models.prepareReload?.bind(models)
  return {
    ...models,
    find: (name) => findReleased(models, releases, name),
    release: (name) => releases[keyOf(name)],
    ...(prepareReload && {
      prepareReload: async (given): Promise<PreparedModels> => {
        const next = await read()
        const prepared = await prepareReload(given)
        const absent = missingIn(prepared, next)
        return {
          ...prepared,
          // With a problem it is not used, and the absent version is not a second one.
          find: (name) => findReleased(prepared, absent.length > 0 ? {} : next, name),
          problems: [...prepared.problems, ...absent],
          fingerprint: `${prepared.fingerprint}\n${JSON.stringify(next)}`,
          commit: () => {
            releases = next
            prepared.commit()
          },
        }
      },
    }),
  }
}

/**
 * The models that a session can have, the best first. One that names no version gets the canary, if it is of its part
 * and the canary does not fail, and otherwise the version of the release. Without one it gets the newest, and older
 * ones while the engine processes of that have no room: so a new version never lowers the capacity of these sessions.
 *
 * @param session the same for all recognitions of a session, over all of its connections
 */
export const versionsFor = (registry: ModelRegistry, name: ModelName, session: string): readonly ModelDescription[] => {
  const found = registry.find(name)
  if ((name.version ?? '') !== '') return found === undefined ? [] : [found]
  const release = registry.release?.(name) ?? {}
  const { version, canary } = release
  const isCanary = canary !== undefined && partOf(`${keyOf(name)} ${session}`) * 100 < canary.percent
  const drawn = isCanary ? registry.find({ ...name, version: canary.version }) : undefined
  const isOlder = (model: ModelDescription): boolean =>
    found !== undefined &&
    isNamed(model, name) &&
    !isOnTrial(model, release) &&
    compareVersions(model.version, found.version) < 0 &&
    // One of this process would need the same CPUs.
    registry.isServed?.(model) === true
  const older = version === undefined ? registry.list().filter(isOlder).toReversed() : []
  const isUsed = drawn !== undefined && registry.isFailing?.(drawn) !== true
  return [...new Set([isUsed ? drawn : undefined, found, ...older])].filter((model) => model !== undefined)
}

/** Whether it is the canary or the challenger, which sessions without a version do not get as the newest. */
const isOnTrial = ({ name, version }: ModelDescription, { canary, challenger }: Release): boolean =>
  version === canary?.version || (version === challenger?.version && name === (challenger.name ?? name))

const findReleased = (models: Found, releases: Releases, name: ModelName): ModelDescription | undefined => {
  const release = releases[keyOf(name)] ?? {}
  const { version, canary, challenger } = release
  if ((name.version ?? '') !== '' || (version ?? canary ?? challenger) === undefined) return models.find(name)
  if (version !== undefined) return models.find({ ...name, version })
  const others = models.list().filter((model) => isNamed(model, name) && !isOnTrial(model, release))
  return others.at(-1)
}

const missing = (models: readonly ModelDescription[], releases: Releases): readonly SpeechError[] =>
  Object.entries(releases).flatMap(([key, { version: pinned, canary, challenger }]) => {
    const [tenant = '', ofKey = ''] = key.split('/')
    const named = [{ version: pinned }, canary ?? {}, challenger ?? {}] satisfies readonly Partial<ModelName>[]
    return named.flatMap(({ version, name = ofKey }: Partial<ModelName>) =>
      version === undefined ||
      models.some((model) => keyOf(model) === keyOf({ tenant, name }) && model.version === version)
        ? []
        : new SpeechError(
            'invalid-options',
            `The releases name the version ${version} of ${keyOf({ tenant, name })}, which is not in the model folders.`,
          ),
    )
  })

const keyOf = ({ tenant, name }: Pick<ModelName, 'tenant' | 'name'>): string => `${tenant}/${name}`

const isNamed = (model: ModelDescription, name: ModelName): boolean => keyOf(model) === keyOf(name)

/** A number from 0 to 1 that a text always has, on each machine. */
const partOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32LE() / 2 ** 32
