import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import type { Engine, EngineKind, ModelDescription } from '../engine.js'
import { invalidModel, modelLabel } from './model-files.js'
import { withSegmentRetry } from '../segment-retry.js'
import { scanModelFolder, type FoundModel } from './model-folders.js'

export interface ModelRegistryOptions {
  /** Folders of the form `<tenant>/<name>/<version>/model.json`. The first that has a model wins. */
  readonly folders: readonly string[]
  readonly kinds: readonly EngineKind[]
  /** Told of faults of engines that their sessions survive. */
  readonly onFault?: ((error: SpeechError) => void) | undefined
  /** How long `close` waits for engines that are still loading or do not close, in milliseconds. Default 5000. */
  readonly closeWithinMs?: number
  readonly scheduler?: SchedulerLike | undefined
}

/** What a client names (PROTOCOL 4.2: model-name, model-tenant, model-version). */
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
   * The model's engine, loaded at the first call and shared after it; a failure is not kept. Its lanes read a segment
   * again when the engine breaks within it.
   * Rejects with `invalid-model`, or with `going-away` once the registry is closed.
   */
  engine(model: ModelDescription): Promise<Engine>
  /** Closes every engine, in a time with a bound. Idempotent. */
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

/**
 * All models of the folders, by tenant, name and version, also those with a problem. Nothing is loaded. Throws
 * `invalid-options` for a folder that cannot be read.
 */
export const findModels = ({
  folders,
  kinds,
}: Pick<ModelRegistryOptions, 'folders' | 'kinds'>): readonly FoundModel[] =>
  [...collect(folders, new Map(kinds.map((kind) => [kind.name, kind]))).values()].flat()

/** Resolves when the work is done or the time is over, whichever comes first; rejects when the work does. */
const settledWithin = (work: Promise<unknown>, durationMs: number, scheduler: SchedulerLike): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = scheduler.schedule(resolve, durationMs)
    work.then(() => resolve(), reject).finally(() => timer.unsubscribe())
  })

/** Reads the folders once, now: a model that is added later is there after a restart. Throws `invalid-options`. */
export const createModelRegistry = (options: ModelRegistryOptions): ModelRegistry => {
  const { folders, kinds, onFault, closeWithinMs = 5_000, scheduler = asyncScheduler } = options
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
    return withSegmentRetry(await kind.open(found.model), { scheduler, ...(onFault === undefined ? {} : { onFault }) })
  }

  const load = (model: ModelDescription): Promise<Engine> => {
    const label = modelLabel(model)
    const engine = engines.get(label) ?? open(model)
    engines.set(label, engine)
    engine.catch(() => engines.delete(label))
    return engine
  }

  const closeAll = (): Promise<void> => {
    // One that is still loading is closed when it has loaded, though nobody waits for it any more
    const closes = [...engines.values()].map((loading) =>
      loading.then(
        (engine) => engine.close(),
        () => undefined,
      ),
    )
    return settledWithin(Promise.all(closes), closeWithinMs, scheduler)
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
