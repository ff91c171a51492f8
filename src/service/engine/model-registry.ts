import { SpeechError } from '../../errors/speech-error.js'
import type { Engine, EngineKind, ModelDescription } from './engine.js'
import { invalidModel, modelLabel } from './model-files.js'
import { scanModelFolder, type FoundModel } from './model-folders.js'

export interface ModelRegistryOptions {
  /** Folders of the form `<tenant>/<name>/<version>/model.json`. The first that has a model wins. */
  readonly folders: readonly string[]
  readonly kinds: readonly EngineKind[]
}

/** What a client names (service.md 4.2: model-name, model-tenant, model-version). */
export interface ModelName {
  readonly tenant: string
  readonly name: string
  /** Empty or left out: the newest. */
  readonly version?: string
}

/** The models of a service. A name is only ever compared with the names that were found, never used as a path. */
export interface ModelRegistry {
  /** Also a model with a broken `model.json`, so that asking for it is refused with the reason and not with an older one. */
  find(name: ModelName): ModelDescription | undefined
  /** The models whose `model.json` is sound, by tenant, name and version. */
  list(): readonly ModelDescription[]
  /** One `invalid-model` for every model that is broken or asks for an engine that is not there. */
  problems(): readonly SpeechError[]
  /**
   * The model's engine, loaded at the first call and shared after it; a failure is not kept.
   * Rejects with `invalid-model`, or with `going-away` once the registry is closed.
   */
  engine(model: ModelDescription): Promise<Engine>
  /** Closes every engine. Idempotent. */
  close(): Promise<void>
}

/** 10 is newer than 9, and 1.10 than 1.9. */
const versionOrder = new Intl.Collator('en', { numeric: true })
const byVersion = (one: FoundModel, other: FoundModel): number =>
  versionOrder.compare(one.model.version, other.model.version)

const keyOf = (tenant: string, name: string): string => JSON.stringify([tenant, name])

/** Every model once, the versions of each from old to new. */
const collect = (
  folders: readonly string[],
  kinds: ReadonlyMap<string, EngineKind>,
): ReadonlyMap<string, FoundModel[]> => {
  const versions = new Map<string, FoundModel[]>()
  for (const found of folders.flatMap(scanModelFolder)) {
    const { tenant, name, version, options } = found.model
    const known = versions.get(keyOf(tenant, name)) ?? []
    if (known.some(({ model }) => model.version === version)) continue
    const names = [...kinds.keys()].join(', ')
    const strange = found.problem === undefined && !kinds.has(options.engine)
    const problem = strange
      ? invalidModel(found.model, `"engine" in model.json is "${options.engine}"; the engines here are ${names}.`)
      : found.problem
    known.push(problem === undefined ? found : { ...found, problem })
    versions.set(keyOf(tenant, name), known.toSorted(byVersion))
  }
  return versions
}

/** Reads the folders once, now: a model that is added later is there after a restart. Throws `invalid-options`. */
export const createModelRegistry = ({ folders, kinds }: ModelRegistryOptions): ModelRegistry => {
  const kindByName = new Map(kinds.map((kind) => [kind.name, kind]))
  const models = collect(folders, kindByName)
  const all = [...models.values()].flat()
  const engines = new Map<string, Promise<Engine>>()
  let closing: Promise<void> | undefined

  const find = ({ tenant, name, version = '' }: ModelName): FoundModel | undefined => {
    const versions = models.get(keyOf(tenant, name))
    return version === '' ? versions?.at(-1) : versions?.find(({ model }) => model.version === version)
  }

  const open = async (wanted: ModelDescription): Promise<Engine> => {
    const found = find(wanted)
    const kind = found && kindByName.get(found.model.options.engine)
    if (found?.problem !== undefined) throw found.problem
    if (found === undefined || kind === undefined) throw invalidModel(wanted, 'it is not in the folders of models.')
    return kind.open(found.model)
  }

  const load = (model: ModelDescription): Promise<Engine> => {
    const label = modelLabel(model)
    const engine = engines.get(label) ?? open(model)
    engines.set(label, engine)
    engine.catch(() => engines.delete(label))
    return engine
  }

  const closeAll = async (): Promise<void> => {
    const settled = await Promise.allSettled(engines.values())
    await Promise.all(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value.close()] : [])))
  }

  return {
    find: (name) => find(name)?.model,
    list: () => all.flatMap(({ model, problem }) => (problem === undefined ? [model] : [])),
    problems: () => all.flatMap(({ problem }) => problem ?? []),
    engine: async (model) => {
      if (closing !== undefined) throw new SpeechError('going-away', 'The service is closing; start a new session.')
      return load(model)
    },
    close: () => (closing ??= closeAll()),
  }
}
